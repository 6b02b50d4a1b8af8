//! A call that moves from its caller's thread to the sandbox's own threads.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use toolhost_runtime::{ComponentId, FairRunQueue};

use crate::SandboxError;

/// Time that a call may keep its caller's thread busy before it moves.
const MAX_INLINE: Duration = Duration::from_millis(2);

/// Polls a call where this is awaited until it has been busy for [`MAX_INLINE`], then runs it in the
/// queue. Dropping the future ends the guest, wherever it runs.
///
/// A call that `is_parked` has given its thread to another one, which it waits for: its time begins anew. So a call that
/// makes a thousand short ones needs no other thread for them.
pub(crate) async fn run_migrating<T: Send + 'static>(
    mut call: impl Future<Output = Result<T, SandboxError>> + Send + Unpin + 'static,
    queue: &FairRunQueue,
    component: ComponentId,
    is_parked: impl Fn() -> bool,
) -> Result<T, SandboxError> {
    let mut busy = Duration::ZERO;
    let inline = poll_fn(|cx| {
        let started = Instant::now();
        let polled = catch_unwind(AssertUnwindSafe(|| call.poll_unpin(cx)));
        busy += started.elapsed();
        match polled {
            Ok(Poll::Ready(done)) => Poll::Ready(Some(done)),
            Ok(Poll::Pending) if is_parked() => {
                busy = Duration::ZERO;
                Poll::Pending
            }
            Ok(Poll::Pending) if busy < MAX_INLINE => Poll::Pending,
            Ok(Poll::Pending) => Poll::Ready(None),
            Err(_) => Poll::Ready(Some(Err(SandboxError::HostPanic))),
        }
    });
    if let Some(done) = inline.await {
        return done;
    }
    let done = queue.spawn(component, call).await;
    done.unwrap_or(Err(SandboxError::HostPanic))
}
