//! What the stores of guests have in common.

use toolhost_contract::Limits;

use crate::store::resource_limiter::MemoryLimiter;

/// How the engine's error begins if a guest passed too much at once. Its type is private.
pub(crate) const HOSTCALL_FUEL: &str =
    "too much data is being copied between the host and the guest";

/// The data of a store in which a guest runs.
pub(crate) trait StoreState: Send + 'static {
    /// The limits of the call.
    fn limits(&self) -> &Limits;

    /// Limits and counts the memory of the store.
    fn limiter(&mut self) -> &mut MemoryLimiter;

    /// Counts what a host call may have changed.
    ///
    /// # Errors
    /// The guest exceeds a limit.
    fn after_host_call(&mut self) -> wasmtime::Result<()>;
}
