#![no_main]
//! Prepares the bytes of a component in the engine, as loading a bundle does. The result is a tool or
//! an error, and no call keeps running.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;

use toolhost_sandbox::{Sandbox, SandboxConfig};

mod seeds;

/// Concurrent calls; at most one runs.
const PLACES: u32 = 2;

/// Longest text about a component, in bytes.
const TOLD_MAX: usize = 8 << 10;

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    let mut config = SandboxConfig::default();
    config.live_calls = PLACES;
    config.describing = Duration::from_millis(200);
    Sandbox::new(config).expect("a sandbox starts")
});

static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime starts")
});

libfuzzer_sys::fuzz_target!(
    init: { seeds::assemble().expect("seeds are assembled"); },
    |bytes: &[u8]| hold(bytes)
);

fn hold(bytes: &[u8]) {
    let facts = SANDBOX.read_facts(bytes);
    let prepared = RUNTIME.block_on(SANDBOX.prepare(bytes.to_vec()));
    match (&facts, &prepared) {
        (_, Err(error)) => is_told(&error.to_string()),
        (Ok(facts), Ok((tool, _))) => {
            assert_eq!(facts, tool.facts());
            assert_eq!(facts.bytes, bytes.len() as u64);
            let names = tool.handlers().iter().map(|handler| handler.name.as_str());
            let apart: HashSet<&str> = names.collect();
            assert_eq!(apart.len(), tool.handlers().len(), "a handler twice");
            assert!(apart.len() <= 256);
        }
        (Err(error), Ok(_)) => panic!("it loads and cannot be read: {error}"),
    }
    if let Err(error) = &facts {
        is_told(&error.to_string());
    }
    assert_eq!(SANDBOX.free_call_slots(), PLACES as usize);
    assert_eq!((SANDBOX.waiting_calls(), SANDBOX.memory_in_use()), (0, 0));
}

fn is_told(text: &str) {
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(text.len() <= TOLD_MAX, "{} bytes: {text:.200}", text.len());
}
