//! How a sandbox is set up.

use std::time::Duration;

use crate::component::cache::CacheConfig;
use crate::component::compiler::Compiler;
use crate::component::limits::CompileLimits;
use toolhost_egress::HttpConfig;

/// How a [`Sandbox`](crate::Sandbox) is set up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SandboxConfig {
    /// Calls that run at once. Default 1,024.
    pub live_calls: u32,
    /// Calls that wait for another agent at once. Each keeps its instance and its memory, and does not
    /// count as running. Beyond this number a request to an agent fails. Default 256.
    pub parked_calls: u32,
    /// Calls that a component may run for each free call slot when another of its calls starts. With 3,
    /// the default, a component takes at most three quarters of the slots while no other runs, and less
    /// as others run. With `u32::MAX` there is no such limit. At least 1. The same rule applies to
    /// waiting calls, memory, open files and parked calls. It does not apply to resuming a parked call.
    pub share_per_free: u32,
    /// How long `describe` may take. Default 10 s.
    pub describing: Duration,
    /// Calls that may wait for a call slot. Default 16,384.
    pub waiting_calls: usize,
    /// How long a call waits for a call slot. Default 30 s.
    pub queueing: Duration,
    /// Linear memory of all running and parked calls, in bytes. Default 4 GiB.
    pub memory_bytes: u64,
    /// Linear memory that may stay resident between calls, in bytes, beside `memory_bytes`. Calls in
    /// memory that is resident take no page faults. It is shared as memory is; components that were not
    /// called for a second give theirs up when others need it. Calls beyond it run in memory that is
    /// returned to the kernel. Default 1.5 GiB. Not counted are the stacks that calls ran on: 512 KiB
    /// each at most, of at most 256.
    pub idle_memory_bytes: u64,
    /// Limits on components that are compiled.
    pub compile: CompileLimits,
    /// Compiles in separate processes. Default: a thread of this process compiles. It has no memory
    /// limit, and continues when its time is up.
    pub compiler: Option<Compiler>,
    /// Where compiled components are kept. Default: nowhere; each load compiles.
    pub cache: Option<CacheConfig>,
    /// How guests' HTTP requests find their servers.
    pub http: HttpConfig,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            live_calls: 1_024,
            parked_calls: 256,
            share_per_free: 3,
            describing: Duration::from_secs(10),
            waiting_calls: 16_384,
            queueing: Duration::from_secs(30),
            memory_bytes: 4 << 30,
            idle_memory_bytes: 1536 << 20,
            compile: CompileLimits::default(),
            compiler: None,
            cache: None,
            http: HttpConfig::default(),
        }
    }
}
