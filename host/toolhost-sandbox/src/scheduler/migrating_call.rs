//! A call that moves from its caller's thread to the sandbox's own threads.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::SandboxError;
use crate::component_id::ComponentId;
use crate::scheduler::clock::ClockedFuture;
use crate::scheduler::run_queue::{FairRunQueue, QueuedCall};

/// Time that a call may keep its caller's thread busy before it moves.
const MAX_INLINE: Duration = Duration::from_millis(2);

/// A call that is polled by its caller until it has been busy for [`MAX_INLINE`]. Dropping it ends the
/// guest, wherever it runs.
pub(crate) struct MigratingCall<T> {
    state: State<T>,
    queue: FairRunQueue,
    component: ComponentId,
}

enum State<T> {
    /// Polled by the caller, with the time for which it was busy.
    Inline(ClockedFuture<T>, Duration),
    /// Run by the sandbox's own threads.
    Offloaded(QueuedCall<T>),
    Done,
}

impl<T: Send + 'static> MigratingCall<T> {
    pub(crate) fn new(
        call: ClockedFuture<T>,
        queue: &FairRunQueue,
        component: ComponentId,
    ) -> Self {
        Self {
            state: State::Inline(call, Duration::ZERO),
            queue: queue.clone(),
            component,
        }
    }
}

impl<T: Send + 'static> Future for MigratingCall<T> {
    type Output = Result<T, SandboxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let State::Inline(call, busy) = &mut this.state {
            let started = Instant::now();
            let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(call).poll(cx)));
            *busy += started.elapsed();
            if matches!(polled, Ok(Poll::Pending)) && *busy < MAX_INLINE {
                return Poll::Pending;
            }
            let inline = std::mem::replace(&mut this.state, State::Done);
            match (polled, inline) {
                (Ok(Poll::Pending), State::Inline(call, _)) => {
                    this.state = State::Offloaded(this.queue.spawn(this.component, call));
                }
                (Ok(Poll::Ready(done)), _) => return Poll::Ready(Ok(done)),
                _ => return Poll::Ready(Err(SandboxError::HostPanic)),
            }
        }
        match &mut this.state {
            State::Offloaded(call) => Pin::new(call)
                .poll(cx)
                .map(|done| done.ok_or(SandboxError::HostPanic)),
            State::Inline(..) | State::Done => Poll::Ready(Err(SandboxError::HostPanic)),
        }
    }
}
