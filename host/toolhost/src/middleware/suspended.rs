//! A pipeline held open around a core that somebody else runs: a turn, a step.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use super::pipeline::{BoxFuture, MiddlewareContext, Pipeline};

/// A pipeline that has reached its core.
pub(crate) struct Opened<C: MiddlewareContext> {
    /// What the layers made of the context.
    pub(crate) context: C,
    /// The way back.
    pub(crate) held: SuspendedPipeline<C>,
}

/// The way back through a pipeline's layers. Dropped, their second halves do not run.
pub(crate) struct SuspendedPipeline<C: MiddlewareContext> {
    /// Only the one who closes it takes it out: the lock makes it shareable.
    waiting: Mutex<Option<Waiting<C>>>,
}

struct Waiting<C: MiddlewareContext> {
    onion: BoxFuture<'static, C::Answer>,
    end: oneshot::Sender<C::Answer>,
}

impl<C: MiddlewareContext> std::fmt::Debug for SuspendedPipeline<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SuspendedPipeline({})", C::KIND)
    }
}

impl<C: MiddlewareContext> SuspendedPipeline<C> {
    /// Of a pipeline without layers: there is nothing on the way back.
    pub(crate) fn closed() -> Self {
        Self {
            waiting: Mutex::new(None),
        }
    }

    /// Runs the first halves of all layers.
    ///
    /// # Errors
    /// The answer of a layer that ended the passage there.
    pub(crate) async fn open(pipeline: &Pipeline<C>, context: C) -> Result<Opened<C>, C::Answer> {
        if pipeline.is_empty() {
            let held = Self::closed();
            return Ok(Opened { context, held });
        }
        let (reach, reached) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let core = move |context: C| -> BoxFuture<'static, C::Answer> {
            Box::pin(async move {
                // Nobody waits for it only where the whole is dropped; then this is dropped too.
                let _unheard = reach.send(context).is_err();
                match ended.await {
                    Ok(answer) => answer,
                    Err(_) => std::future::pending().await,
                }
            })
        };
        let mut onion = pipeline.run(context, core);
        let reached = async {
            match reached.await {
                Ok(context) => context,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = &mut onion => Err(answer),
            context = reached => Ok(Opened {
                context,
                held: Self { waiting: Mutex::new(Some(Waiting { onion, end })) },
            }),
        }
    }

    /// Runs the second halves: what the layers make of the answer.
    pub(crate) async fn close(self, answer: C::Answer) -> C::Answer {
        let waiting = self.waiting.into_inner();
        match waiting.unwrap_or_else(PoisonError::into_inner) {
            None => answer,
            Some(Waiting { onion, end }) => {
                // A layer that no longer waits for the core has its own answer.
                let _unheard = end.send(answer).is_err();
                onion.await
            }
        }
    }
}
