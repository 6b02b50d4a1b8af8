//! The moment after each host call, at which a guest is stopped or gives way, and what the host holds for
//! it is counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use wasmtime::{CallHook, CallHookHandler, StoreContextMut, Trap};
use wasmtime_wasi::async_trait;

use crate::call::store_data::CallState;

/// Time a guest may take between two moments at which it gives way.
const TURN: Duration = Duration::from_millis(1);

/// Stops a guest after a host call that ends past its deadline, and lets others run after one that
/// ends a while after the last.
///
/// The engine looks at its own clock in loops and where a function begins. A guest that makes a
/// hundred thousand slow host calls in a row, and loops nowhere, comes by neither.
pub(crate) struct AfterHostCalls {
    started: Instant,
    ends: Option<Instant>,
    /// When it last gave way, in microseconds since it started.
    gave_way: AtomicU64,
}

impl AfterHostCalls {
    pub(crate) fn until(ends: Option<Instant>) -> Self {
        Self {
            started: Instant::now(),
            ends,
            gave_way: AtomicU64::new(0),
        }
    }
}

#[async_trait]
impl CallHookHandler<CallState> for AfterHostCalls {
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
        let gave_way = Duration::from_micros(self.gave_way.load(Relaxed));
        if since_start.saturating_sub(gave_way) >= TURN {
            let micros = u64::try_from(since_start.as_micros()).unwrap_or(u64::MAX);
            self.gave_way.store(micros, Relaxed);
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}
