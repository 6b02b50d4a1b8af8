//! What the stores of guests have in common.

use toolhost_contract::Limits;

use crate::call::resource_limiter::MemoryLimiter;

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
