//! The runtime of a connection: a thread of its own, with timers. Whoever polls the futures of a carrier may have none.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tokio::runtime::{Builder, Handle, Runtime};

/// The runtime. It ends when this is dropped, without waiting: that may be where nothing may block.
pub(crate) struct OwnRuntime {
    handle: Handle,
    /// Taken when this is dropped.
    runtime: Option<Runtime>,
}

/// A future that is polled with the timers of a runtime.
struct OnRuntime<'a, T> {
    runtime: Handle,
    future: BoxFuture<'a, T>,
}

impl OwnRuntime {
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("toolhost-nats")
            .enable_all()
            .build()?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// Runs a task.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(task));
    }

    /// Returns a future that any thread may poll.
    pub(crate) fn boxed<'a, T: 'a>(
        &self,
        future: impl Future<Output = T> + Send + 'a,
    ) -> BoxFuture<'a, T> {
        Box::pin(OnRuntime {
            runtime: self.handle.clone(),
            future: Box::pin(future),
        })
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
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
