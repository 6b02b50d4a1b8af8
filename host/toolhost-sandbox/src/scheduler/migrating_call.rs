//! A call that moves from its caller's thread to the sandbox's own threads, and back.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use toolhost_runtime::{ComponentId, FairRunQueue};

use crate::SandboxError;

/// Time that a call may keep its caller's thread busy before it moves.
const MAX_INLINE: Duration = Duration::from_millis(2);

/// How a call left the queue.
enum LeftQueue<T, C> {
    Ended(Result<T, SandboxError>),
    /// It waits for a call of its own, which runs where this one is awaited.
    Parked(C),
}

/// Polls a call where this is awaited until it has been busy for [`MAX_INLINE`], then runs it in the
/// queue. Dropping the future ends the guest, wherever it runs.
///
/// A call that `is_parked` waits for another one, which runs where this one is awaited: it comes back from the queue, and
/// its time begins anew. So a call that makes a thousand short ones changes threads only when it computes.
pub(crate) async fn run_migrating<T: Send + 'static>(
    mut call: impl Future<Output = Result<T, SandboxError>> + Send + Unpin + 'static,
    queue: &FairRunQueue,
    component: ComponentId,
    is_parked: impl Fn() -> bool + Clone + Send + 'static,
) -> Result<T, SandboxError> {
    loop {
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
        let mut moved = Some(call);
        let is_parked = is_parked.clone();
        let left = queue.spawn(
            component,
            poll_fn(move |cx| {
                let polled = moved.as_mut().map(|call| call.poll_unpin(cx));
                match (polled, moved.take()) {
                    (Some(Poll::Ready(done)), _) => Poll::Ready(LeftQueue::Ended(done)),
                    (Some(Poll::Pending), Some(call)) if is_parked() => {
                        Poll::Ready(LeftQueue::Parked(call))
                    }
                    (_, call) => {
                        moved = call;
                        Poll::Pending
                    }
                }
            }),
        );
        match left.await {
            Some(LeftQueue::Parked(parked)) => call = parked,
            Some(LeftQueue::Ended(done)) => return done,
            None => return Err(SandboxError::HostPanic),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::task::Context;
    use std::thread::{self, ThreadId};

    use toolhost_runtime::Threads;

    use super::*;

    /// Computes for too long, waits for a call of its own, and computes again. Notes where.
    struct Caller {
        polls: usize,
        parked: Arc<AtomicBool>,
        threads: Vec<ThreadId>,
    }

    impl Future for Caller {
        type Output = Result<Vec<ThreadId>, SandboxError>;

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            self.threads.push(thread::current().id());
            self.polls += 1;
            // As the guest would be woken when the other call has ended, or when it has yielded.
            cx.waker().wake_by_ref();
            match self.polls {
                1 => thread::sleep(MAX_INLINE * 2),
                2 => self.parked.store(true, Relaxed),
                3 => self.parked.store(false, Relaxed),
                _ => return Poll::Ready(Ok(std::mem::take(&mut self.threads))),
            }
            Poll::Pending
        }
    }

    #[tokio::test]
    async fn a_busy_call_leaves_its_callers_thread_and_comes_back_to_wait_for_another_one() {
        let threads = Threads::start(4).unwrap();
        let parked = Arc::new(AtomicBool::new(false));
        let call = Caller {
            polls: 0,
            parked: Arc::clone(&parked),
            threads: Vec::new(),
        };
        let is_parked = move || parked.load(Relaxed);
        let queue = threads.run_queue();
        let polled = run_migrating(call, queue, ComponentId(1), is_parked).await;
        let here = thread::current().id();
        let was_here: Vec<bool> = polled.unwrap().iter().map(|it| *it == here).collect();
        assert_eq!(was_here, [true, false, true, true]);
    }
}
