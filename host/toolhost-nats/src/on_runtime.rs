//! Runs the futures of the carrier with the timers and the connections of its runtime, whoever polls them.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

/// A future of a runtime.
pub(crate) struct OnRuntime<'a, T> {
    runtime: Handle,
    future: BoxFuture<'a, T>,
}

impl<'a, T: 'a> OnRuntime<'a, T> {
    pub(crate) fn boxed(
        runtime: &Handle,
        future: impl Future<Output = T> + Send + 'a,
    ) -> BoxFuture<'a, T> {
        Box::pin(Self {
            runtime: runtime.clone(),
            future: Box::pin(future),
        })
    }
}

impl<T> Future for OnRuntime<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let _entered = this.runtime.enter();
        this.future.as_mut().poll(cx)
    }
}
