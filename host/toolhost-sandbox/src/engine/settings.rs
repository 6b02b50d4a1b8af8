//! The engine's settings. The benchmark's yardstick, which is the engine alone, takes this file in.
//!
//! **Freshness.** A slot of a pool is made fresh for its next instance by writing over what a call may
//! have left, or by giving its pages back to the kernel. Both hold whatever the kernel did with those
//! pages meanwhile. The engine's third way, a scan for pages that were written to (`pagemap_scan`), does
//! not: it takes a page that was swapped out for one that nobody wrote to, and leaves it to the next
//! instance. It stays off on every machine, since swap can be turned on at any time.

use wasmtime::{
    Config, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmBacktraceDetails,
};

/// Address space of one linear memory: the most a policy can grant.
const MEMORY_RESERVATION: u64 = 4 << 30;

/// Core instances of one component: a QuickJS tool has 9, a Python tool some 30.
pub(crate) const INSTANCES: u32 = 64;

/// Linear memories of one component.
pub(crate) const MEMORIES: u32 = 4;

/// Tables of one component.
pub(crate) const TABLES: u32 = 16;

/// The slots of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolSettings {
    /// Components that have an instance at once.
    pub(crate) components: u32,
    /// Linear memories of all of them.
    pub(crate) memories: u32,
    /// Unused slots that are left to the component they last served while others are free.
    pub(crate) warm: u32,
    /// Bytes at the beginning of each memory that are written over and stay resident between calls.
    pub(crate) kept_of_memory: usize,
    /// The same of each table.
    pub(crate) kept_of_table: usize,
}

/// Returns the settings of an engine: with a pool, or one that maps memory for each instance.
pub(crate) fn config(pool: Option<&PoolSettings>) -> Config {
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
    if let Some(pool) = pool {
        config.allocation_strategy(pooling(pool));
    }
    config
}

fn pooling(settings: &PoolSettings) -> InstanceAllocationStrategy {
    let components = settings.components;
    let mut pool = PoolingAllocationConfig::new();
    // One component may hold several core instances, memories and tables. Each call has its share of
    // each, so that no component can take those of another.
    pool.total_component_instances(components)
        .total_stacks(components)
        .total_core_instances(components.saturating_mul(INSTANCES))
        .total_memories(settings.memories)
        .total_tables(components.saturating_mul(TABLES))
        .max_core_instances_per_component(INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(16)
        .max_memories_per_module(16)
        .max_core_instance_size(1 << 20)
        .max_component_instance_size(1 << 20)
        .table_elements(100_000)
        .max_memory_size(usize::try_from(MEMORY_RESERVATION).unwrap_or(usize::MAX))
        .max_unused_warm_slots(settings.warm)
        .linear_memory_keep_resident(settings.kept_of_memory)
        .table_keep_resident(settings.kept_of_table);
    InstanceAllocationStrategy::Pooling(pool)
}
