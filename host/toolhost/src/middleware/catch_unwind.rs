//! Turns a panic in extension code into an error.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// The future panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Awaits a future and catches its panic, and the panic of dropping it afterwards.
pub(crate) async fn catch_unwind<T>(future: impl Future<Output = T> + Send) -> Result<T, Panicked> {
    let mut future = Box::pin(future);
    let caught = AssertUnwindSafe(future.as_mut()).catch_unwind().await;
    caught.map_err(|_| {
        let dropped = std::panic::catch_unwind(AssertUnwindSafe(|| drop(future)));
        drop(dropped.err());
        Panicked
    })
}
