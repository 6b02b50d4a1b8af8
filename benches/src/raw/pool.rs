//! The engine's own pool of instances.

use wasmtime::{Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::settings::{INSTANCES, MEMORIES, MEMORY_RESERVATION, TABLES};

/// Concurrent calls in the largest measurement.
const SLOTS: u32 = 256;

/// What the slots of a pool keep between calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool {
    /// Bytes at the beginning of each memory that stay resident.
    kept_of_memory: usize,
    /// The same of each table.
    kept_of_table: usize,
    /// Ask the kernel which pages were written to, and reset only these.
    scans_pages: bool,
}

impl Pool {
    /// Slots for components with small memories.
    pub(crate) fn small() -> Self {
        Self {
            kept_of_memory: 4 << 20,
            kept_of_table: 64 << 10,
            scans_pages: false,
        }
    }

    /// Slots that keep all that a tool's memory starts with, and reset what was written. Not safe on a
    /// machine that swaps: the scan reports a page that was swapped out as unwritten, so that the next
    /// instance reads it.
    pub(crate) fn tuned() -> Self {
        Self {
            kept_of_memory: 64 << 20,
            kept_of_table: 64 << 10,
            scans_pages: true,
        }
    }

    /// Slots that keep these bytes of a memory and no table.
    pub(crate) fn keeping(kept_of_memory: usize) -> Self {
        Self {
            kept_of_memory,
            kept_of_table: 0,
            scans_pages: false,
        }
    }

    pub(super) fn strategy(self) -> InstanceAllocationStrategy {
        let scan = if self.scans_pages {
            Enabled::Yes
        } else {
            Enabled::No
        };
        let mut pool = PoolingAllocationConfig::new();
        // One component may have several core instances, memories and tables.
        pool.total_component_instances(SLOTS)
            .total_stacks(SLOTS)
            .total_core_instances(SLOTS * INSTANCES)
            .total_memories(SLOTS * MEMORIES)
            .total_tables(SLOTS * TABLES)
            .max_core_instances_per_component(INSTANCES)
            .max_memories_per_component(MEMORIES)
            .max_tables_per_component(TABLES)
            .max_tables_per_module(TABLES)
            .max_memories_per_module(MEMORIES)
            .max_core_instance_size(1 << 20)
            .max_component_instance_size(1 << 20)
            .table_elements(100_000)
            .max_memory_size(usize::try_from(MEMORY_RESERVATION).unwrap())
            .max_unused_warm_slots(SLOTS)
            .linear_memory_keep_resident(self.kept_of_memory)
            .table_keep_resident(self.kept_of_table)
            .pagemap_scan(scan);
        InstanceAllocationStrategy::Pooling(pool)
    }
}
