//! The settings of the engine. The benchmark includes this file to measure the engine alone with the same
//! compiled code.

use wasmtime::{Config, OptLevel, WasmBacktraceDetails};

/// Address space of one linear memory: the most a policy can grant.
pub(crate) const MEMORY_RESERVATION: u64 = 4 << 30;

/// Stack of a guest's functions, in bytes. An interpreter of JavaScript takes some 700 bytes for a frame of the
/// program, and ends a recursion of 5,500 frames itself. Only pages that a call reaches take memory.
const GUEST_STACK: usize = 8 << 20;

/// Stack that is left for functions of the host beneath those of the guest, in bytes.
const HOST_STACK: usize = 1536 << 10;

/// Most core instances of one component: a QuickJS tool has 9, a Python tool some 30.
pub(crate) const INSTANCES: u32 = 64;

/// Most linear memories of one component.
pub(crate) const MEMORIES: u32 = 4;

/// Most tables of one component.
pub(crate) const TABLES: u32 = 16;

/// Returns the settings that decide how components are compiled.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .concurrency_support(false)
        .cranelift_opt_level(OptLevel::Speed)
        .memory_reservation(MEMORY_RESERVATION)
        .max_wasm_stack(GUEST_STACK)
        .async_stack_size(GUEST_STACK + HOST_STACK)
        .native_unwind_info(false)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_memory64(false)
        .wasm_custom_page_sizes(false)
        .wasm_multi_memory(true)
        // The host maps initial data itself.
        .memory_init_cow(false);
    config
}
