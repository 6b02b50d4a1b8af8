//! Runs after each host call: stops the guest at its deadline, lets it yield, and counts the memory of its
//! handles.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use wasmtime::{CallHook, CallHookHandler, StoreContextMut, Trap};
use wasmtime_wasi::async_trait;

use crate::call::store_data::CallState;

/// Time after which a guest yields to other calls.
const TIME_SLICE: Duration = Duration::from_millis(1);

/// Stops a guest after a host call that ends past its deadline, and yields once every time slice.
///
/// The engine checks its own clock in loops and at the beginning of functions. Code that makes a hundred
/// thousand slow host calls in a row, without a loop, reaches neither.
pub(crate) struct HostCallHook {
    started: Instant,
    ends: Option<Instant>,
    /// When it last yielded, in microseconds since it started.
    yielded: AtomicU64,
}

impl HostCallHook {
    pub(crate) fn new(ends: Option<Instant>) -> Self {
        Self {
            started: Instant::now(),
            ends,
            yielded: AtomicU64::new(0),
        }
    }
}

#[async_trait]
impl CallHookHandler<CallState> for HostCallHook {
    async fn handle_call_event(
        &self,
        mut store: StoreContextMut<'_, CallState>,
        event: CallHook,
    ) -> wasmtime::Result<()> {
        let CallHook::ReturningFromHost = event else {
            return Ok(());
        };
        store.data_mut().check_http()?;
        let now = Instant::now();
        if self.ends.is_some_and(|ends| now >= ends) {
            return Err(Trap::Interrupt.into());
        }
        let since_start = now.duration_since(self.started);
        let yielded = Duration::from_micros(self.yielded.load(Relaxed));
        if since_start.saturating_sub(yielded) >= TIME_SLICE {
            let micros = u64::try_from(since_start.as_micros()).unwrap_or(u64::MAX);
            self.yielded.store(micros, Relaxed);
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}
