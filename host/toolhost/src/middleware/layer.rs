//! One layer: what it may not do is made an error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;

use toolhost_contract::{ErrorCode, Locale, ToolError, ToolErrorCode};

use super::pipeline::{Middleware, MiddlewareContext, Next};

/// A middleware, whose it is and where it stands.
pub(super) struct Layer<C: MiddlewareContext> {
    /// The extension that registered it.
    pub(super) owner: Arc<str>,
    /// Lower is outer.
    pub(super) priority: i32,
    middleware: Arc<dyn Middleware<C>>,
}

impl<C: MiddlewareContext> Clone for Layer<C> {
    fn clone(&self) -> Self {
        Self {
            owner: Arc::clone(&self.owner),
            priority: self.priority,
            middleware: Arc::clone(&self.middleware),
        }
    }
}

impl<C: MiddlewareContext> Layer<C> {
    pub(super) fn new(owner: &Arc<str>, priority: i32, middleware: Arc<dyn Middleware<C>>) -> Self {
        Self {
            owner: Arc::clone(owner),
            priority,
            middleware,
        }
    }

    /// Passes through the layer: its answer, or `E_MIDDLEWARE` where it panicked or did not run the
    /// rest.
    pub(super) async fn handle(self, context: C, next: Next<C>) -> C::Answer {
        let locale = context.locale();
        let ran = Arc::clone(&next.ran);
        let answer = unpanicked(async { self.middleware.handle(context, next).await }).await;
        match answer {
            Err(Panicked) => C::failed(self.fault("panicked", locale)),
            Ok(answer) if ran.load(Relaxed) => answer,
            Ok(answer) => C::failed(match C::error_of(answer) {
                Some(refusal) => refused(refusal, locale),
                None => self.fault("answered without running the rest", locale),
            }),
        }
    }

    fn fault(&self, what: &str, locale: Locale) -> ToolError {
        let message = format!("The {} middleware of '{}' {what}.", C::KIND, self.owner);
        ToolError::host(ToolErrorCode::Middleware, message, locale)
    }
}

/// What a layer refuses in its own words.
fn refused(error: ToolError, locale: Locale) -> ToolError {
    if error.code == ErrorCode::Host(ToolErrorCode::Middleware) {
        return error;
    }
    ToolError::host(ToolErrorCode::Middleware, error.message, locale)
}

/// A future panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Awaits a future of somebody else's code; its panic ends there.
pub(crate) async fn unpanicked<T>(future: impl Future<Output = T> + Send) -> Result<T, Panicked> {
    let mut running = Some(Box::pin(future));
    std::future::poll_fn(move |cx| {
        let Some(future) = running.as_mut() else {
            return Poll::Ready(Err(Panicked));
        };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        match polled {
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => {
                // What it leaves behind may panic, too, when it is dropped.
                let left = running.take();
                let _dropped = catch_unwind(AssertUnwindSafe(|| drop(left))).is_ok();
                Poll::Ready(Err(Panicked))
            }
        }
    })
    .await
}
