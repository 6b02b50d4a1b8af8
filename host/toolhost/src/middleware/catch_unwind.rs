//! Turns a panic in extension code into an error.

use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures_util::FutureExt;

/// The future panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Awaits a future and catches its panic, and the panic of dropping it afterwards.
pub(crate) async fn catch_unwind<T>(future: impl Future<Output = T> + Send) -> Result<T, Panicked> {
    let mut future = pin!(Some(future));
    let Some(running) = future.as_mut().as_pin_mut() else {
        return Err(Panicked);
    };
    let caught = AssertUnwindSafe(running).catch_unwind().await;
    caught.map_err(|_| {
        let dropped = std::panic::catch_unwind(AssertUnwindSafe(|| future.set(None)));
        drop(dropped.err());
        Panicked
    })
}
