//! A pipeline whose core waits while a turn or a step is open, and whose layers run meanwhile.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use tokio::sync::{Mutex, oneshot};
use tracing::{Instrument, Span};

use super::contexts::MiddlewareContext;
use super::pipeline::Pipeline;

/// A pipeline whose core waits for [`Self::close`]. A task polls the layers meanwhile. Dropping this drops
/// the layers: their second halves do not run.
pub(crate) struct SuspendedPipeline<C: MiddlewareContext> {
    /// None for a pipeline without layers.
    open: Option<Open<C>>,
}

struct Open<C: MiddlewareContext> {
    /// Dropped before the task is woken, so that the task ends. If the task polls the layers just then,
    /// it drops them afterwards.
    layers: Arc<Layers<C>>,
    answer: oneshot::Sender<C::Answer>,
    _wake: WakeOnDrop,
}

/// The layers. Locked while one of the task and [`SuspendedPipeline::close`] polls them.
struct Layers<C: MiddlewareContext>(Mutex<Progress<C>>);

enum Progress<C: MiddlewareContext> {
    Running(BoxFuture<'static, C::Answer>),
    /// The layers ended before the turn or the step was closed.
    Ended(C::Answer),
    /// [`SuspendedPipeline::close`] runs them.
    Closing,
}

/// Wakes the task that polls the layers.
struct WakeOnDrop(Arc<AtomicWaker>);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        self.0.wake();
    }
}

impl<C: MiddlewareContext> std::fmt::Debug for SuspendedPipeline<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SuspendedPipeline({})", C::KIND)
    }
}

impl<C: MiddlewareContext> SuspendedPipeline<C> {
    pub(crate) fn empty() -> Self {
        Self { open: None }
    }

    /// Runs the first halves of all layers. Returns the context as they left it. From then on a task that
    /// `spawn` runs polls the layers.
    ///
    /// # Errors
    /// The answer of a layer that did not run the rest.
    pub(crate) async fn open(
        pipeline: &Pipeline<C>,
        context: C,
        spawn: impl FnOnce(BoxFuture<'static, ()>),
    ) -> Result<(C, Self), C::Answer> {
        if pipeline.is_empty() {
            return Ok((context, Self::empty()));
        }
        let (reach, reached) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let core = move |context: C| -> BoxFuture<'static, C::Answer> {
            Box::pin(async move {
                // The receiver lives as long as the future that runs this.
                let _is_dropped = reach.send(context).is_err();
                match answered.await {
                    Ok(answer) => answer,
                    Err(_) => std::future::pending().await,
                }
            })
        };
        let mut layers = pipeline.run(context, core);
        let reached = async {
            match reached.await {
                Ok(context) => context,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = &mut layers => Err(answer),
            context = reached => {
                let open = Some(Open::start(layers, answer, spawn));
                Ok((context, Self { open }))
            }
        }
    }

    /// Runs the second halves of all layers, and returns what they make of the answer.
    pub(crate) async fn close(self, answer: C::Answer) -> C::Answer {
        let Some(open) = self.open else {
            return answer;
        };
        let mut layers = open.layers.0.lock().await;
        let progress = std::mem::replace(&mut *layers, Progress::Closing);
        drop(layers);
        match progress {
            Progress::Running(layers) => {
                // A layer that dropped the rest returns an answer of its own.
                let _is_dropped = open.answer.send(answer).is_err();
                layers.await
            }
            Progress::Ended(own) => own,
            Progress::Closing => answer,
        }
    }
}

impl<C: MiddlewareContext> Open<C> {
    fn start(
        layers: BoxFuture<'static, C::Answer>,
        answer: oneshot::Sender<C::Answer>,
        spawn: impl FnOnce(BoxFuture<'static, ()>),
    ) -> Self {
        let layers = Arc::new(Layers(Mutex::new(Progress::Running(layers))));
        let waker: Arc<AtomicWaker> = Arc::default();
        let (polled, wake) = (Arc::downgrade(&layers), Arc::clone(&waker));
        let poll = poll_fn(move |cx| {
            wake.register(cx.waker());
            poll_layers(&polled, cx)
        });
        spawn(Box::pin(poll.instrument(Span::current())));
        Self {
            layers,
            answer,
            _wake: WakeOnDrop(waker),
        }
    }
}

/// Polls the layers; ready once they have ended, are closed or were dropped.
fn poll_layers<C: MiddlewareContext>(polled: &Weak<Layers<C>>, cx: &mut Context<'_>) -> Poll<()> {
    let Some(layers) = polled.upgrade() else {
        return Poll::Ready(());
    };
    // Otherwise `close` has them.
    let Ok(mut progress) = layers.0.try_lock() else {
        return Poll::Ready(());
    };
    let Progress::Running(running) = &mut *progress else {
        return Poll::Ready(());
    };
    match running.as_mut().poll(cx) {
        Poll::Ready(answer) => {
            *progress = Progress::Ended(answer);
            Poll::Ready(())
        }
        Poll::Pending => Poll::Pending,
    }
}
