//! Runs after each host call: stops the guest at its deadline, lets it yield, and counts the memory of its
//! handles.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use wasmtime::{CallHook, CallHookHandler, StoreContextMut, Trap};

use crate::store::state::StoreState;

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
    pub(crate) fn new(started: Instant, ends: Option<Instant>) -> Self {
        Self {
            started,
            ends,
            yielded: AtomicU64::new(0),
        }
    }

    /// Returns whether the guest is to yield now.
    ///
    /// # Errors
    /// The deadline has passed, or the guest exceeds another limit.
    fn check(&self, state: &mut impl StoreState) -> wasmtime::Result<bool> {
        state.after_host_call()?;
        let now = Instant::now();
        if self.ends.is_some_and(|ends| now >= ends) {
            return Err(Trap::Interrupt.into());
        }
        let since_start = now.duration_since(self.started);
        let yielded = Duration::from_micros(self.yielded.load(Relaxed));
        let yields = since_start.saturating_sub(yielded) >= TIME_SLICE;
        if yields {
            let micros = u64::try_from(since_start.as_micros()).unwrap_or(u64::MAX);
            self.yielded.store(micros, Relaxed);
        }
        Ok(yields)
    }
}

/// A future that is ready at once. Boxing it allocates nothing, as it has no size: of four events for each
/// call, three need nothing, and the fourth seldom does.
struct Continue;

impl Future for Continue {
    type Output = wasmtime::Result<()>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

impl<T: StoreState> CallHookHandler<T> for HostCallHook {
    // Written without `async_trait`, which boxes a future with a size for each event.
    fn handle_call_event<'h, 's, 'f>(
        &'h self,
        mut store: StoreContextMut<'s, T>,
        event: CallHook,
    ) -> Pin<Box<dyn Future<Output = wasmtime::Result<()>> + Send + 'f>>
    where
        'h: 'f,
        's: 'f,
        Self: 'f,
    {
        let CallHook::ReturningFromHost = event else {
            return Box::pin(Continue);
        };
        match self.check(store.data_mut()) {
            Ok(false) => Box::pin(Continue),
            Ok(true) => Box::pin(async {
                tokio::task::yield_now().await;
                Ok(())
            }),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}
