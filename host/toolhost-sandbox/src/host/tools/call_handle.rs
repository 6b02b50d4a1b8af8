//! The handle of a guest's call of another tool.

use std::sync::Arc;

use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::Pollable;

use crate::host::tools::port::StartedCall;

/// A call that the guest started, as its handle has it. Dropping it stops the call.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct CallHandle(Arc<StartedCall>);

impl CallHandle {
    pub(super) fn new(call: Arc<StartedCall>) -> Self {
        Self(call)
    }

    pub(super) fn call(&self) -> &StartedCall {
        &self.0
    }
}

impl Drop for CallHandle {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[async_trait]
impl Pollable for CallHandle {
    async fn ready(&mut self) {
        self.0.wait().await;
    }
}
