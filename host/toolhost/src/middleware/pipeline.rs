//! Runs the layers around a core; each sees what goes in and what comes out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use futures_util::future::BoxFuture;
use toolhost_contract::{ErrorCode, Locale, Redactor, ToolError, ToolErrorCode, ToolResult};

use super::catch_unwind::{Panicked, catch_unwind};
use super::contexts::{MiddlewareContext, ToolCallContext};

/// One layer of a pipeline. A closure `Fn(C, Next<C>) -> impl Future<Output = C::Answer>` is one.
///
/// A layer must run [`Next`]. If it does not, its answer must be an error with a code of its own, such as of
/// [`ToolCallContext::refuse_with`], or `E_MIDDLEWARE`, which any other answer becomes; so does a panic. The host sets no deadline for a layer. The result that a layer
/// returns must not have a host code or a handle that the result of `next` did not have.
///
/// Between opening and closing a turn or a step, its layers run on in a task, so that a layer may do other
/// work beside [`Next::run`], such as `tokio::select!` with a timer or a channel. The task runs on the tokio
/// runtime in which the turn or the step was opened, or else on the sandbox's threads. Dropping the turn or
/// the step drops its layers. A layer that ends before has decided the answer: [`Turn::close`] returns it.
///
/// If the turn or the step is dropped, the second half of a layer does not run; the events of the turn have
/// its duration in any case.
///
/// [`Turn::close`]: crate::Turn::close
///
/// ```
/// use toolhost::{ToolResult, middleware::{Next, ToolCallContext}};
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
/// A closure with state clones it for each call, and names the types of its parameters:
///
/// ```
/// # fn example(api: &toolhost::extension::ExtensionApi) -> Result<(), toolhost::extension::ExtensionError> {
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// use toolhost::middleware::{Next, ToolCallContext};
///
/// let calls = Arc::new(AtomicU64::new(0));
/// api.pipeline().tool_call(0, move |call: ToolCallContext, next: Next<ToolCallContext>| {
///     let calls = Arc::clone(&calls);
///     async move {
///         calls.fetch_add(1, Relaxed);
///         next.run(call).await
///     }
/// })
/// # }
/// ```
///
/// Spec: tool-spec-v2 §8.
pub trait Middleware<C: MiddlewareContext>: Send + Sync + 'static {
    /// Handles one turn, step or call.
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

/// Redacts the result of a call.
impl Middleware<ToolCallContext> for Redactor {
    fn handle(
        &self,
        context: ToolCallContext,
        next: Next<ToolCallContext>,
    ) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move { self.result(next.run(context).await) })
    }
}

/// What the layers are around: the turn, the step or the call itself.
type Core<C> = Box<dyn FnOnce(C) -> BoxFuture<'static, <C as MiddlewareContext>::Answer> + Send>;

/// The inner layers and the core. Running it consumes it, so that nothing runs twice.
#[must_use = "a layer that does not run the rest must return an error"]
pub struct Next<C: MiddlewareContext> {
    layers: Layers<C>,
    at: usize,
    core: Core<C>,
    ran: Arc<AtomicBool>,
}

impl<C: MiddlewareContext> std::fmt::Debug for Next<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let left = self.layers.len().saturating_sub(self.at);
        write!(f, "Next({}, {left} layers left)", C::KIND)
    }
}

impl<C: MiddlewareContext> Next<C> {
    /// Runs the inner layers and the core. Dropping the future stops them.
    pub async fn run(self, context: C) -> C::Answer {
        self.ran.store(true, Relaxed);
        run(self.layers, self.at, self.core, context).await
    }
}

type Layers<C> = Arc<[Arc<Layer<C>>]>;

/// One middleware, the extension that registered it, and its priority.
struct Layer<C: MiddlewareContext> {
    owner: Arc<str>,
    priority: i32,
    middleware: Arc<dyn Middleware<C>>,
}

impl<C: MiddlewareContext> Layer<C> {
    /// Runs the middleware. Its answer becomes `E_MIDDLEWARE` if it panicked or did not run the rest.
    async fn handle(&self, context: C, next: Next<C>) -> C::Answer {
        let locale = context.locale();
        let ran = Arc::clone(&next.ran);
        let answer = catch_unwind(async { self.middleware.handle(context, next).await }).await;
        match answer {
            Err(Panicked) => C::failed(self.fault("panicked", locale)),
            Ok(answer) if ran.load(Relaxed) => answer,
            Ok(answer) => C::failed(match C::error_of(answer) {
                Some(error) if is_own(&error.code) => error,
                Some(error) => ToolError::host(ToolErrorCode::Middleware, error.message, locale),
                None => self.fault("answered without running the rest", locale),
            }),
        }
    }

    fn fault(&self, what: &str, locale: Locale) -> ToolError {
        let message = format!("The {} middleware of '{}' {what}.", C::KIND, self.owner);
        ToolError::host(ToolErrorCode::Middleware, message, locale)
    }
}

/// Returns whether a middleware may return an error with this code.
fn is_own(code: &ErrorCode) -> bool {
    match code {
        ErrorCode::Handler(_) => true,
        ErrorCode::Host(code) => *code == ToolErrorCode::Middleware,
    }
}

/// Layers in order: a lower priority is further out; of equal priorities, the one registered first.
pub(crate) struct Pipeline<C: MiddlewareContext> {
    layers: Layers<C>,
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
        let new = Layer {
            owner: Arc::clone(owner),
            priority,
            middleware,
        };
        let layers = outer.iter().cloned().chain([Arc::new(new)]);
        Self {
            layers: layers.chain(inner.iter().cloned()).collect(),
        }
    }

    /// Returns the pipeline with the layers of another one.
    pub(crate) fn merged(&self, others: &Self) -> Self {
        others.layers.iter().fold(self.clone(), |all, layer| {
            let middleware = Arc::clone(&layer.middleware);
            all.with(&layer.owner, layer.priority, middleware)
        })
    }

    /// Returns the pipeline without the layers of one extension.
    pub(crate) fn without(&self, owner: &str) -> Self {
        let layers = self.layers.iter().filter(|layer| &*layer.owner != owner);
        Self {
            layers: layers.cloned().collect(),
        }
    }

    /// Runs every layer around the core.
    pub(crate) fn run(
        &self,
        context: C,
        core: impl FnOnce(C) -> BoxFuture<'static, C::Answer> + Send + 'static,
    ) -> BoxFuture<'static, C::Answer> {
        run(Arc::clone(&self.layers), 0, Box::new(core), context)
    }
}

fn run<C: MiddlewareContext>(
    layers: Layers<C>,
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
