//! The engine and its clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::{
    Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, OptLevel,
    PoolingAllocationConfig, WasmBacktraceDetails,
};

use crate::SandboxStartError;

/// One tick of the epoch: how late a deadline is noticed in guest code.
const TICK: Duration = Duration::from_millis(1);

/// Ticks without a running call after which the clock sleeps.
const IDLE_TICKS: u32 = 100;

/// Address space of one linear memory: the most a policy can grant.
const MEMORY_RESERVATION: u64 = 4 << 30;

/// Bytes of a linear memory kept resident between calls, so that a fresh instance takes no page
/// faults. Pays only together with the pagemap scan, which counts what a call wrote to, and then no
/// more than these few pages do. A burst of calls leaves as much for each slot that it took.
const KEEP_RESIDENT: usize = 16 << 10;

/// Slots that keep the code's first memory while nobody uses them. More would be taken anew rather
/// than used again, and each keeps what its largest call left.
const WARM_SLOTS: u32 = 8;

/// Core instances of one component: a QuickJS tool has 9, a Python tool some 30.
pub(crate) const INSTANCES: u32 = 64;

/// Linear memories of one component.
pub(crate) const MEMORIES: u32 = 4;

/// Tables of one component.
pub(crate) const TABLES: u32 = 16;

/// How instances get their memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// From slots reserved at the start: fast. Takes address space, not memory.
    Pooling,
    /// Mapped for each call: slower by some 50 µs, and nothing is reserved.
    OnDemand,
}

/// Makes the engine; where slots cannot be reserved it falls back to [`Allocation::OnDemand`].
pub(crate) fn start(
    allocation: Allocation,
    slots: u32,
) -> Result<(Engine, Allocation), SandboxStartError> {
    if allocation == Allocation::Pooling {
        match Engine::new(&config(Some(slots))) {
            Ok(engine) => return Ok((engine, Allocation::Pooling)),
            Err(error) => tracing::warn!(
                error = format!("{error:#}"),
                "cannot reserve slots for instances: each call maps its own memory"
            ),
        }
    }
    Engine::new(&config(None))
        .map(|engine| (engine, Allocation::OnDemand))
        .map_err(|e| SandboxStartError::Engine(format!("{e:#}")))
}

/// Makes an engine that only compiles, for engines of [`start`].
pub(crate) fn for_compiling() -> wasmtime::Result<Engine> {
    Engine::new(&config(None))
}

fn config(slots: Option<u32>) -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .concurrency_support(false)
        .cranelift_opt_level(OptLevel::Speed)
        .memory_reservation(MEMORY_RESERVATION)
        .memory_init_cow(true)
        .native_unwind_info(false)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_memory64(false)
        .wasm_custom_page_sizes(false)
        .wasm_multi_memory(true);
    if let Some(slots) = slots {
        config.allocation_strategy(pool(slots));
    }
    config
}

fn pool(slots: u32) -> InstanceAllocationStrategy {
    let mut pool = PoolingAllocationConfig::new();
    // One component may hold several core instances, memories and tables. Each call has its share of
    // each, so that no component can take those of another.
    pool.total_component_instances(slots)
        .total_stacks(slots)
        .total_core_instances(slots.saturating_mul(INSTANCES))
        .total_memories(slots.saturating_mul(MEMORIES))
        .total_tables(slots.saturating_mul(TABLES))
        .max_core_instances_per_component(INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(16)
        .max_memories_per_module(16)
        .max_core_instance_size(1 << 20)
        .max_component_instance_size(1 << 20)
        .table_elements(100_000)
        .max_memory_size(usize::try_from(MEMORY_RESERVATION).unwrap_or(usize::MAX));
    pool.max_unused_warm_slots(WARM_SLOTS);
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.linear_memory_keep_resident(KEEP_RESIDENT)
            .pagemap_scan(Enabled::Yes);
    }
    InstanceAllocationStrategy::Pooling(pool)
}

/// Advances the engine's epoch while calls run, and sleeps while none does.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    running: AtomicUsize,
    asleep: AtomicBool,
    ended: AtomicBool,
}

/// Says that a call runs, until dropped.
pub(crate) struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (engine, own) = (engine.weak(), Arc::clone(&shared));
        let thread = thread::Builder::new()
            .name("toolhost-epoch".to_owned())
            .spawn(move || tick(&engine, &own))?;
        Ok(Self { shared, thread })
    }

    pub(crate) fn running(&self) -> Running {
        self.shared.running.fetch_add(1, SeqCst);
        if self.shared.asleep.load(SeqCst) {
            self.thread.thread().unpark();
        }
        Running(Arc::clone(&self.shared))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.ended.store(true, SeqCst);
        self.thread.thread().unpark();
    }
}

fn tick(engine: &EngineWeak, shared: &Shared) {
    let mut idle = 0;
    while !shared.ended.load(SeqCst) {
        thread::sleep(TICK);
        let Some(engine) = engine.upgrade() else {
            return;
        };
        engine.increment_epoch();
        drop(engine);
        idle = if shared.running.load(SeqCst) == 0 {
            idle + 1
        } else {
            0
        };
        if idle < IDLE_TICKS {
            continue;
        }
        shared.asleep.store(true, SeqCst);
        // A call that starts now either is seen here or sees `asleep` and wakes this thread.
        while shared.running.load(SeqCst) == 0 && !shared.ended.load(SeqCst) {
            thread::park();
        }
        shared.asleep.store(false, SeqCst);
        idle = 0;
    }
}
