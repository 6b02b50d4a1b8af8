//! Where instances get their memory, and whether it stays resident between calls.
//!
//! After a call its memories are reset in one of two ways. Writing over a memory leaves its pages
//! resident, so that the next call takes no page faults; it takes some 45 µs for each MiB of the memory,
//! however much of it was used. Returning the pages to the kernel takes one or two µs for each page that
//! the next call touches, and interrupts the other cores.
//!
//! So pools keep small memories, and memories that are mostly image: the heap that QuickJS or CPython
//! starts with. [`idle_memory_bytes`](crate::SandboxConfig::idle_memory_bytes) sets how many slots these
//! pools have. All other memories, and calls for which no such slot is free, use a pool that keeps
//! nothing.

use std::sync::Arc;
use std::thread;

use tracing::warn;
use wasmtime::component::Linker;
use wasmtime::{Engine, EngineWeak};

use crate::SandboxStartError;
use crate::accounting::quota::{Share, Shares};
use crate::call::linker;
use crate::call::store_data::CallState;
use crate::component::inspect::DeclaredMemory;
use crate::component_id::ComponentId;
use crate::engine::settings::{self, KEPT_OF_MEMORY, KEPT_OF_TABLE, MEMORIES, PoolSettings};

/// Of `idle_memory_bytes`, the thirds that go to the slots of each size: 128 small and 32 large ones of
/// 1.5 GiB. From 128 slots on the engine divides a pool into shards, so that each core finds its own
/// slots again: echo is called 1.4 times as often on two cores. One component has at most three
/// quarters of the slots.
const THIRDS: [u64; 2] = [1, 2];

/// The largest memory that is kept whatever is in it: a stack of 1 MiB and a small heap.
const SMALL_MEMORY: u64 = 2 << 20;

/// Largest ratio of a memory to its image at which the memory counts as mostly image.
const MOST_PER_IMAGE: u64 = 4;

/// Most memories of a component that are kept. It bounds the time that resetting one call takes.
const MOST_KEPT_MEMORIES: u32 = 2;

/// Slots of the pool that keeps nothing which are reserved for the component that used them last, for
/// each shard of the pool. The engine makes a shard for each core, at most 16. Such slots keep mappings,
/// not memory.
const WARM_PER_SHARD: usize = 8;

/// How instances get their memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// From slots reserved at the start: fast. Takes address space, not memory.
    Pooling,
    /// Mapped for each call: slower by some 50 µs, and nothing is reserved.
    OnDemand,
}

/// The pools of a sandbox.
pub(crate) struct InstancePools {
    /// Those that keep memory, smallest first.
    kept: Vec<Arc<InstancePool>>,
    /// The pool that keeps nothing and has slots for every call.
    rest: Arc<InstancePool>,
    allocation: Allocation,
}

/// A pool, and the engine it belongs to.
pub(crate) struct InstancePool {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<CallState>,
    /// Slots for memories. None where there are enough for every call.
    memories: Option<Arc<Shares>>,
    kept_of_memory: u64,
}

impl InstancePools {
    /// Reserves slots for so many calls; `share` is
    /// [`share_per_free`](crate::SandboxConfig::share_per_free). Where slots cannot be reserved it
    /// falls back to [`Allocation::OnDemand`].
    pub(crate) fn start(
        allocation: Allocation,
        calls: u32,
        idle_memory_bytes: u64,
        share: u32,
    ) -> Result<Self, SandboxStartError> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let all = PoolSettings {
            components: calls,
            memories: calls.saturating_mul(MEMORIES),
            warm: u32::try_from(cores.min(16) * WARM_PER_SHARD).unwrap_or(u32::MAX),
            kept_of_memory: 0,
            kept_of_table: 0,
        };
        let reserved = (allocation == Allocation::Pooling)
            .then(|| InstancePool::reserve(&all, None))
            .and_then(reported);
        let Some(rest) = reserved else {
            return Ok(Self {
                kept: Vec::new(),
                rest: Arc::new(InstancePool::on_demand().map_err(start_failed)?),
                allocation: Allocation::OnDemand,
            });
        };
        let sizes = KEPT_OF_MEMORY.into_iter().zip(THIRDS);
        let kept = sizes.filter_map(|(kept_of_memory, thirds)| {
            let bytes = idle_memory_bytes / 3 * thirds;
            let memories = (bytes / kept_of_memory as u64).min(calls.into());
            let memories = u32::try_from(memories).unwrap_or(u32::MAX);
            // One component may need so many.
            if memories < MEMORIES {
                return None;
            }
            let settings = PoolSettings {
                components: memories,
                memories,
                warm: memories,
                kept_of_memory,
                kept_of_table: KEPT_OF_TABLE,
            };
            let shares = Arc::new(Shares::new(memories.into(), share));
            reported(InstancePool::reserve(&settings, Some(shares)))
        });
        Ok(Self {
            kept: kept.map(Arc::new).collect(),
            rest: Arc::new(rest),
            allocation: Allocation::Pooling,
        })
    }

    pub(crate) fn allocation(&self) -> Allocation {
        self.allocation
    }

    /// The pool that has a slot for every call.
    pub(crate) fn rest(&self) -> &Arc<InstancePool> {
        &self.rest
    }

    /// The pool in which a component's calls run while it has a slot for them.
    pub(crate) fn home(&self, memory: DeclaredMemory) -> &Arc<InstancePool> {
        let mut kept = self.kept.iter();
        kept.find(|pool| memory.is_kept_in(pool.kept_of_memory))
            .unwrap_or(&self.rest)
    }

    /// Memory that the engine counts as resident in slots that no call uses, in bytes.
    pub(crate) fn idle_memory(&self) -> u64 {
        let metrics = |pool: &Arc<InstancePool>| pool.engine.pooling_allocator_metrics();
        let kept = self.kept.iter().filter_map(metrics);
        kept.map(|pool| {
            let tables = pool.unused_table_bytes_resident();
            (pool.unused_memory_bytes_resident() + tables) as u64
        })
        .sum()
    }

    /// The engines, for their clock.
    pub(crate) fn engines(&self) -> Vec<EngineWeak> {
        let pools = self.kept.iter().chain([&self.rest]);
        pools.map(|pool| pool.engine.weak()).collect()
    }
}

impl DeclaredMemory {
    /// Returns whether a slot that keeps this many bytes suits these memories.
    fn is_kept_in(self, kept_of_memory: u64) -> bool {
        let image = self.image_bytes.saturating_mul(MOST_PER_IMAGE) >= self.bytes;
        self.count <= MOST_KEPT_MEMORIES
            && self.bytes <= kept_of_memory
            && (self.bytes <= SMALL_MEMORY || image)
    }
}

impl InstancePool {
    fn reserve(
        settings: &PoolSettings,
        memories: Option<Arc<Shares>>,
    ) -> Result<Self, wasmtime::Error> {
        let engine = Engine::new(&settings::config(Some(settings)))?;
        Ok(Self {
            linker: linker::link(&engine)?,
            engine,
            memories,
            kept_of_memory: settings.kept_of_memory as u64,
        })
    }

    fn on_demand() -> Result<Self, wasmtime::Error> {
        let engine = Engine::new(&settings::config(None))?;
        Ok(Self {
            linker: linker::link(&engine)?,
            engine,
            memories: None,
            kept_of_memory: 0,
        })
    }

    /// Takes slots for so many memories of one call. None where this pool has none free for the
    /// component.
    pub(crate) fn take(&self, component: ComponentId, memories: u64) -> Option<MemorySlots> {
        let _share = match &self.memories {
            Some(shares) => Some(shares.hold(component, memories)?),
            None => None,
        };
        Some(MemorySlots { _share })
    }
}

/// Holds slots for the memories of a call. It is dropped after the instance.
pub(crate) struct MemorySlots {
    _share: Option<Share>,
}

fn reported(pool: Result<InstancePool, wasmtime::Error>) -> Option<InstancePool> {
    pool.inspect_err(|error| {
        warn!(
            error = format!("{error:#}"),
            "cannot reserve slots for instances: calls that would have one run slower"
        );
    })
    .ok()
}

fn start_failed(error: wasmtime::Error) -> SandboxStartError {
    SandboxStartError::Engine(format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_memories_and_images_are_kept_and_others_are_not() {
        let pools = InstancePools::start(Allocation::Pooling, 64, 1 << 30, 3).unwrap();
        let kept = |mib: u64, image_mib: u64| {
            let memory = DeclaredMemory {
                count: 1,
                bytes: mib << 20,
                image_bytes: image_mib << 20,
            };
            pools.home(memory).kept_of_memory >> 20
        };
        // A Rust tool, a QuickJS tool, a StarlingMonkey tool, a Python tool.
        assert_eq!(
            [kept(1, 0), kept(3, 1), kept(11, 5), kept(20, 18)],
            [4, 4, 32, 32]
        );
        // Mostly zeros; more than any slot keeps; too many.
        assert_eq!([kept(3, 0), kept(20, 1), kept(33, 33)], [0, 0, 0]);
        let many = DeclaredMemory {
            count: 3,
            ..DeclaredMemory::default()
        };
        assert_eq!(pools.home(many).kept_of_memory, 0);
    }

    #[test]
    fn slots_that_keep_memory_are_as_many_as_it_allows() {
        let most = |idle: u64, calls: u32| {
            let pools = InstancePools::start(Allocation::Pooling, calls, idle, 3).unwrap();
            let counts = pools.kept.iter().map(|pool| {
                let shares = pool.memories.as_ref().unwrap();
                let fits = |count: &u64| shares.would_give(ComponentId::default(), *count);
                (1..).take_while(fits).count()
            });
            counts.collect::<Vec<_>>()
        };
        assert_eq!(most(1536 << 20, 1_000), [128, 32]);
        assert_eq!(most(512 << 20, 10), [10, 10]);
        // Fewer than one component may have are none.
        assert_eq!(most(191 << 20, 100), [15]);
        assert_eq!(most(0, 10), [] as [usize; 0]);
    }

    #[test]
    fn one_component_leaves_slots_to_others() {
        let pools = InstancePools::start(Allocation::Pooling, 64, 96 << 20, 3).unwrap();
        let small = pools.home(DeclaredMemory::default());
        let (hog, other) = (ComponentId::of("1"), ComponentId::of("2222222222222222"));
        let held: Vec<_> = std::iter::from_fn(|| small.take(hog, 1)).collect();
        assert_eq!(held.len(), 6);
        assert!(small.take(other, 2).is_some());
        assert!(pools.rest().take(hog, 1_000).is_some());
        drop(held);
        assert!(small.take(hog, 1).is_some());
    }
}
