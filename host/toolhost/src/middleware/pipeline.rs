//! The onion: layers around a core, each of which may look at what goes in and what comes out.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use toolhost_contract::{Locale, ToolError};

use super::layer::Layer;

/// A future on the heap, to be awaited on any thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What goes through a pipeline: a [`ToolCallContext`](crate::ToolCallContext), a
/// [`StepContext`](crate::StepContext) or a [`TurnContext`](crate::TurnContext).
pub trait MiddlewareContext: sealed::Sealed + Send + Sized + 'static {
    /// What comes back.
    type Answer: Send + 'static;

    /// Name of the kind, as the specification has it: `turn`, `step`, `toolCall`.
    const KIND: &'static str;

    #[doc(hidden)]
    fn locale(&self) -> Locale;

    #[doc(hidden)]
    fn failed(error: ToolError) -> Self::Answer;

    #[doc(hidden)]
    fn error_of(answer: Self::Answer) -> Option<ToolError>;
}

pub(crate) mod sealed {
    /// The kinds of passages are the specification's three; nobody adds one.
    pub trait Sealed {}
}

/// One layer of a pipeline. A closure `Fn(C, Next<C>) -> impl Future<Output = C::Answer>` is one.
///
/// A layer must run [`Next`]: one that ends the passage before answers with an error, which becomes
/// `E_MIDDLEWARE`. So does a panic. It has no deadline but its own. What it makes of a result may not
/// have a code of the host's or a handle that the result did not have.
///
/// A turn or a step lies in the runtime's hands between opening and closing: its layers wait in
/// [`Next::run`] and are not polled meanwhile, so that a timer of theirs beside it stands still.
///
/// ```
/// use toolhost::{Next, ToolCallContext, ToolResult};
///
/// async fn shout(mut call: ToolCallContext, next: Next<ToolCallContext>) -> ToolResult {
///     call.args.insert("loud".to_owned(), true.into()); // before
///     let mut result = next.run(call).await;
///     if let Some(output) = result.output_mut() {
///         *output = output.to_string().to_uppercase().into(); // after
///     }
///     result
/// }
/// ```
///
/// Spec: tool-spec-v2 §8.
pub trait Middleware<C: MiddlewareContext>: Send + Sync + 'static {
    /// Handles one passage.
    fn handle(&self, context: C, next: Next<C>) -> BoxFuture<'_, C::Answer>;
}

impl<C, F, Fut> Middleware<C> for F
where
    C: MiddlewareContext,
    F: Fn(C, Next<C>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = C::Answer> + Send + 'static,
{
    fn handle(&self, context: C, next: Next<C>) -> BoxFuture<'_, C::Answer> {
        Box::pin(self(context, next))
    }
}

/// What the layers are around.
type Core<C> = Box<dyn FnOnce(C) -> BoxFuture<'static, <C as MiddlewareContext>::Answer> + Send>;

/// The layers that are left, and the core. Running it consumes it: a passage cannot be run twice.
#[must_use = "a layer that does not run the rest answers with an error"]
pub struct Next<C: MiddlewareContext> {
    layers: Arc<[Layer<C>]>,
    at: usize,
    core: Core<C>,
    pub(super) ran: Arc<AtomicBool>,
}

impl<C: MiddlewareContext> std::fmt::Debug for Next<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let left = self.layers.len().saturating_sub(self.at);
        write!(f, "Next({}, {left} layers left)", C::KIND)
    }
}

impl<C: MiddlewareContext> Next<C> {
    /// Runs the rest. Dropping the future stops it.
    pub async fn run(self, context: C) -> C::Answer {
        self.ran.store(true, Relaxed);
        run(self.layers, self.at, self.core, context).await
    }
}

/// Layers in order: a lower priority is outer, of equal ones the one registered first.
pub(crate) struct Pipeline<C: MiddlewareContext> {
    layers: Arc<[Layer<C>]>,
}

impl<C: MiddlewareContext> Clone for Pipeline<C> {
    fn clone(&self) -> Self {
        Self {
            layers: Arc::clone(&self.layers),
        }
    }
}

impl<C: MiddlewareContext> Default for Pipeline<C> {
    fn default() -> Self {
        Self {
            layers: Arc::new([]),
        }
    }
}

impl<C: MiddlewareContext> Pipeline<C> {
    pub(crate) fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The pipeline with one more layer.
    pub(crate) fn with(
        &self,
        owner: &Arc<str>,
        priority: i32,
        middleware: Arc<dyn Middleware<C>>,
    ) -> Self {
        let after = self
            .layers
            .partition_point(|layer| layer.priority <= priority);
        let (outer, inner) = self.layers.split_at(after);
        let new = Layer::new(owner, priority, middleware);
        let layers = outer.iter().cloned().chain([new]);
        Self {
            layers: layers.chain(inner.iter().cloned()).collect(),
        }
    }

    /// The pipeline without the layers of one extension.
    pub(crate) fn without(&self, owner: &str) -> Self {
        let kept = self.layers.iter().filter(|layer| &*layer.owner != owner);
        Self {
            layers: kept.cloned().collect(),
        }
    }

    /// Sends a context through every layer to the core and back.
    pub(crate) fn run(
        &self,
        context: C,
        core: impl FnOnce(C) -> BoxFuture<'static, C::Answer> + Send + 'static,
    ) -> BoxFuture<'static, C::Answer> {
        run(Arc::clone(&self.layers), 0, Box::new(core), context)
    }
}

fn run<C: MiddlewareContext>(
    layers: Arc<[Layer<C>]>,
    at: usize,
    core: Core<C>,
    context: C,
) -> BoxFuture<'static, C::Answer> {
    let Some(layer) = layers.get(at).cloned() else {
        return core(context);
    };
    let next = Next {
        layers,
        at: at + 1,
        core,
        ran: Arc::default(),
    };
    Box::pin(async move { layer.handle(context, next).await })
}

#[cfg(test)]
mod tests;
