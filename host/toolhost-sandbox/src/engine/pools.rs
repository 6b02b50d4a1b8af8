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
use crate::accounting::quota::{Quota, QuotaGuard};
use crate::component::inspect::DeclaredMemory;
use crate::component_id::ComponentId;
use crate::engine::settings::{self, KEPT_OF_MEMORY, KEPT_OF_TABLE, MEMORIES, PoolSettings};

/// Thirds of `idle_memory_bytes` for the slots of each size: 128 small and 32 large ones of
/// 1.5 GiB. From 128 slots on the engine divides a pool into shards, so that each core finds its own
/// slots again: echo is called 1.4 times as often on two cores. One component has at most three
/// quarters of the slots.
const THIRDS: [u64; 2] = [1, 2];

/// The largest memory that is kept even if it is mostly zeros: a stack of 1 MiB and a small heap.
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
    /// From slots that are reserved at the start. Reserving takes address space, but no memory.
    Pooling,
    /// Mapped for each call, which takes some 50 µs more. Nothing is reserved.
    OnDemand,
}

/// The pools of a sandbox, whose stores hold a `T`.
pub(crate) struct InstancePools<T: 'static> {
    /// The pools that keep memory, smallest first.
    resident: Vec<Arc<InstancePool<T>>>,
    /// The pool that keeps nothing and has slots for every call.
    pub(crate) transient: Arc<InstancePool<T>>,
    pub(crate) allocation: Allocation,
}

/// Links what the host serves with an engine.
pub(crate) type Link<T> = fn(&Engine) -> wasmtime::Result<Linker<T>>;

/// A pool, and the engine it belongs to.
pub(crate) struct InstancePool<T: 'static> {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<T>,
    /// Slots for memories. None where there are enough for every call.
    memories: Option<Arc<Quota>>,
    kept_of_memory: u64,
}

impl<T: 'static> InstancePools<T> {
    /// Reserves slots for this number of calls. `share` is
    /// [`share_per_free`](crate::SandboxConfig::share_per_free). Where slots cannot be reserved it
    /// falls back to [`Allocation::OnDemand`].
    pub(crate) fn start(
        allocation: Allocation,
        calls: u32,
        idle_memory_bytes: u64,
        share: u32,
        link: Link<T>,
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
            .then(|| InstancePool::new(Some(&all), None, link))
            .and_then(or_warn);
        let Some(transient) = reserved else {
            let on_demand = InstancePool::new(None, None, link).map_err(start_failed)?;
            return Ok(Self {
                resident: Vec::new(),
                transient: Arc::new(on_demand),
                allocation: Allocation::OnDemand,
            });
        };
        let sizes = KEPT_OF_MEMORY.into_iter().zip(THIRDS);
        let resident = sizes.filter_map(|(kept_of_memory, thirds)| {
            let bytes = idle_memory_bytes / 3 * thirds;
            let memories = (bytes / kept_of_memory as u64).min(calls.into());
            let memories = u32::try_from(memories).unwrap_or(u32::MAX);
            // One component may need this many.
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
            let quota = Arc::new(Quota::new(memories.into(), share));
            or_warn(InstancePool::new(Some(&settings), Some(quota), link))
        });
        Ok(Self {
            resident: resident.map(Arc::new).collect(),
            transient: Arc::new(transient),
            allocation: Allocation::Pooling,
        })
    }

    /// The pool in which a component's calls run while it has slots for them.
    pub(crate) fn pool_for(&self, memory: DeclaredMemory) -> &Arc<InstancePool<T>> {
        let mut resident = self.resident.iter();
        resident
            .find(|pool| memory.is_kept_in(pool.kept_of_memory))
            .unwrap_or(&self.transient)
    }

    /// Memory that the engine counts as resident in slots that no call uses, in bytes.
    pub(crate) fn idle_memory(&self) -> u64 {
        let metrics = |pool: &Arc<InstancePool<T>>| pool.engine.pooling_allocator_metrics();
        let resident = self.resident.iter().filter_map(metrics);
        resident
            .map(|pool| {
                let tables = pool.unused_table_bytes_resident();
                (pool.unused_memory_bytes_resident() + tables) as u64
            })
            .sum()
    }

    /// The engines, whose epochs advance while calls run.
    pub(crate) fn engines(&self) -> Vec<EngineWeak> {
        let pools = self.resident.iter().chain([&self.transient]);
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

impl<T: 'static> InstancePool<T> {
    /// Reserves slots, or maps memory for each instance where there are no `settings`.
    fn new(
        settings: Option<&PoolSettings>,
        memories: Option<Arc<Quota>>,
        link: Link<T>,
    ) -> wasmtime::Result<Self> {
        let engine = Engine::new(&settings::config(settings))?;
        Ok(Self {
            linker: link(&engine)?,
            engine,
            memories,
            kept_of_memory: settings.map_or(0, |settings| settings.kept_of_memory as u64),
        })
    }

    /// Takes slots for the memories of one call. None where the pool has too few free for the component.
    pub(crate) fn take(&self, component: ComponentId, memories: u64) -> Option<MemorySlots> {
        let _guard = match &self.memories {
            Some(quota) => Some(quota.hold(component, memories)?),
            None => None,
        };
        Some(MemorySlots { _guard })
    }
}

/// Holds slots for the memories of a call. It is dropped after the instance.
pub(crate) struct MemorySlots {
    _guard: Option<QuotaGuard>,
}

fn or_warn<T>(pool: wasmtime::Result<InstancePool<T>>) -> Option<InstancePool<T>> {
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

    fn pools(calls: u32, idle_memory_bytes: u64) -> InstancePools<()> {
        let link = |engine: &Engine| Ok(Linker::new(engine));
        InstancePools::start(Allocation::Pooling, calls, idle_memory_bytes, 3, link).unwrap()
    }

    #[test]
    fn small_memories_and_images_are_kept_and_others_are_not() {
        let pools = pools(64, 1 << 30);
        let kept = |mib: u64, image_mib: u64| {
            let memory = DeclaredMemory {
                count: 1,
                bytes: mib << 20,
                image_bytes: image_mib << 20,
            };
            pools.pool_for(memory).kept_of_memory >> 20
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
        assert_eq!(pools.pool_for(many).kept_of_memory, 0);
    }

    #[test]
    fn slots_that_keep_memory_are_as_many_as_it_allows() {
        let most = |idle: u64, calls: u32| {
            let pools = pools(calls, idle);
            let counts = pools.resident.iter().map(|pool| {
                let quota = pool.memories.as_ref().unwrap();
                let fits = |count: &u64| quota.would_grant(ComponentId::default(), *count);
                (1..).take_while(fits).count()
            });
            counts.collect::<Vec<_>>()
        };
        assert_eq!(most(1536 << 20, 1_000), [128, 32]);
        assert_eq!(most(512 << 20, 10), [10, 10]);
        // A pool with fewer slots than one component may need is left out.
        assert_eq!(most(191 << 20, 100), [15]);
        assert_eq!(most(0, 10), [] as [usize; 0]);
    }

    #[test]
    fn one_component_leaves_slots_to_others() {
        let pools = pools(64, 96 << 20);
        let small = pools.pool_for(DeclaredMemory::default());
        let (hog, other) = (ComponentId(1), ComponentId(2));
        let held: Vec<_> = std::iter::from_fn(|| small.take(hog, 1)).collect();
        assert_eq!(held.len(), 6);
        assert!(small.take(other, 2).is_some());
        assert!(pools.transient.take(hog, 1_000).is_some());
        drop(held);
        assert!(small.take(hog, 1).is_some());
    }
}
