//! What a component may consist of.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits on a component that is compiled. All but the time are checked by reading it, which takes
/// milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileLimits {
    /// Bytes of the file. Default 64 MiB.
    pub bytes: u64,
    /// Functions over all modules. Default 500,000.
    pub functions: u64,
    /// Bytes of one function's body. Default 4 MiB.
    pub function_bytes: u64,
    /// Types over all modules and components. Default 100,000.
    pub types: u64,
    /// Core modules and nested components. Default 500.
    pub modules: u64,
    /// Globals over all modules. Default 100,000.
    pub globals: u64,
    /// Nesting of components. Default 16.
    pub nesting: u64,
    /// Types, aliases, imports, exports, lifted and lowered functions, and instances. Those of a nested
    /// component count once for each instantiation. Default 100,000; a Python tool has some thousands.
    pub definitions: u64,
    /// Lifted and lowered functions, counted like `definitions`. Each becomes up to some KiB of code.
    /// Default 2,000.
    pub adapters: u64,
    /// Bytes that instances keep beside their memories and tables, summed over all instantiations of
    /// modules: 16 for each element and global, 32 for each function. Default 4 MiB. One instance has at
    /// most 1 MiB in the pool.
    pub instance_bytes: u64,
    /// Elements in the element segments of all modules. Default 200,000.
    pub elements: u64,
    /// Data and element segments. Default 110,000: the linker of Go writes up to 100,000 for one module.
    pub segments: u64,
    /// Bytes of the expressions that initialize globals, elements and segments: they become one function.
    /// Default 4 MiB.
    pub initialiser_bytes: u64,
    /// Locals of a function times its blocks. Default 100,000,000.
    pub local_blocks: u64,
    /// Nesting of loops in one function. Default 1,000.
    pub nested_loops: u64,
    /// Processor time for a [`Compiler`](crate::Compiler), which may take four times as long by the clock,
    /// as it shares the machine. Without a compiler, time by the clock. Waiting while others are compiled
    /// does not count. Default 60 s, to which `time_per_mib` is added.
    pub time: Duration,
    /// What each MiB of the file adds to `time`. Default 10 s.
    pub time_per_mib: Duration,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            functions: 500_000,
            function_bytes: 4 << 20,
            types: 100_000,
            modules: 500,
            globals: 100_000,
            nesting: 16,
            definitions: 100_000,
            adapters: 2_000,
            instance_bytes: 4 << 20,
            elements: 200_000,
            segments: 110_000,
            initialiser_bytes: 4 << 20,
            local_blocks: 100_000_000,
            nested_loops: 1_000,
            time: Duration::from_secs(60),
            time_per_mib: Duration::from_secs(10),
        }
    }
}

impl CompileLimits {
    /// How long a component of so many bytes may take to compile.
    pub(crate) fn time_for(&self, bytes: usize) -> Duration {
        let mib = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        let added = self.time_per_mib.saturating_mul(mib);
        self.time.saturating_add(added)
    }
}
