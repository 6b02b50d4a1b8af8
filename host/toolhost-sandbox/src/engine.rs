//! The engine of a sandbox, and what its instances are made of.

pub(crate) mod memory;
mod per_thread;
pub(crate) mod settings;
mod stacks;

use std::sync::Arc;

use wasmtime::Engine;

use memory::creator::HostMemories;
use stacks::HostStacks;

/// Starts an engine whose instances take their memories and stacks from the host.
pub(crate) fn start() -> wasmtime::Result<Engine> {
    let mut config = settings::config();
    config
        .with_host_memory(Arc::new(HostMemories))
        .with_host_stack(Arc::new(HostStacks::default()));
    Engine::new(&config)
}
