//! A pipeline that is suspended at its core while a turn or a step is open.

use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::contexts::MiddlewareContext;
use super::pipeline::Pipeline;

/// A pipeline whose layers wait in [`Next::run`](super::Next::run). Dropping it drops the layers:
/// their second halves do not run.
pub(crate) struct SuspendedPipeline<C: MiddlewareContext> {
    /// None for a pipeline without layers. The mutex only makes the future shareable: [`Self::close`]
    /// alone takes it out.
    waiting: Mutex<Option<Waiting<C>>>,
}

struct Waiting<C: MiddlewareContext> {
    layers: BoxFuture<'static, C::Answer>,
    answer: oneshot::Sender<C::Answer>,
}

impl<C: MiddlewareContext> std::fmt::Debug for SuspendedPipeline<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SuspendedPipeline({})", C::KIND)
    }
}

impl<C: MiddlewareContext> SuspendedPipeline<C> {
    fn new(waiting: Option<Waiting<C>>) -> Self {
        Self {
            waiting: Mutex::new(waiting),
        }
    }

    pub(crate) fn empty() -> Self {
        Self::new(None)
    }

    /// Runs the first halves of all layers. Returns the context as they left it.
    ///
    /// # Errors
    /// The answer of a layer that did not run the rest.
    pub(crate) async fn open(pipeline: &Pipeline<C>, context: C) -> Result<(C, Self), C::Answer> {
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
            context = reached => Ok((context, Self::new(Some(Waiting { layers, answer })))),
        }
    }

    /// Runs the second halves of all layers, and returns what they make of the answer.
    pub(crate) async fn close(self, answer: C::Answer) -> C::Answer {
        let waiting = self.waiting.into_inner();
        match waiting.unwrap_or_else(PoisonError::into_inner) {
            None => answer,
            Some(waiting) => {
                // A layer that dropped the rest returns an answer of its own.
                let _is_dropped = waiting.answer.send(answer).is_err();
                waiting.layers.await
            }
        }
    }
}
