//! The settings of an engine. The benchmark includes this file to measure the engine alone with the same
//! settings.

use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    WasmBacktraceDetails,
};

/// Address space of one linear memory: the most a policy can grant.
const MEMORY_RESERVATION: u64 = 4 << 30;

/// Most core instances of one component: a QuickJS tool has 9, a Python tool some 30.
pub(crate) const INSTANCES: u32 = 64;

/// Most linear memories of one component.
pub(crate) const MEMORIES: u32 = 4;

/// Most tables of one component.
pub(crate) const TABLES: u32 = 16;

/// Bytes that each slot of a pool keeps of a memory, in the pools that keep any: smallest first.
pub(crate) const KEPT_OF_MEMORY: [usize; 2] = [4 << 20, 32 << 20];

/// Bytes that such a slot keeps of a table: 8,192 elements, more than CPython has.
pub(crate) const KEPT_OF_TABLE: usize = 64 << 10;

/// The slots of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolSettings {
    /// Components that have an instance at once.
    pub(crate) components: u32,
    /// Linear memories of all of them.
    pub(crate) memories: u32,
    /// Unused slots that are reserved for the component that used them last, while others are free.
    pub(crate) warm: u32,
    /// Bytes at the beginning of each memory that are reset by writing and stay resident between calls.
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
    // One component may have several core instances, memories and tables.
    pool.total_component_instances(components)
        .total_stacks(components)
        .total_core_instances(components.saturating_mul(INSTANCES))
        .total_memories(settings.memories)
        .total_tables(components.saturating_mul(TABLES))
        .max_core_instances_per_component(INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .max_memories_per_module(MEMORIES)
        .max_core_instance_size(1 << 20)
        .max_component_instance_size(1 << 20)
        .table_elements(100_000)
        .max_memory_size(usize::try_from(MEMORY_RESERVATION).unwrap_or(usize::MAX))
        .max_unused_warm_slots(settings.warm)
        .linear_memory_keep_resident(settings.kept_of_memory)
        .table_keep_resident(settings.kept_of_table)
        // The scan reports a page that was swapped out as unwritten, so that the next instance reads
        // it. It stays off on every machine: swap can be turned on at any time.
        .pagemap_scan(Enabled::No);
    InstanceAllocationStrategy::Pooling(pool)
}
