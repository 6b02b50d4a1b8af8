//! Loads compiled code.

use wasmtime::Engine;
use wasmtime::component::Component;

/// Loads compiled code.
///
/// # Errors
/// The engine refuses it.
#[expect(
    unsafe_code,
    reason = "an engine of ours compiled these bytes, here or in a process of its own, and nobody else held them"
)]
pub(crate) fn load(engine: &Engine, artifact: &[u8]) -> wasmtime::Result<Component> {
    unsafe { Component::deserialize(engine, artifact) }
}
