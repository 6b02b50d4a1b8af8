//! Receives from a channel as a `Stream`.

use std::fmt;
use std::task::{Context, Poll, ready};

use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::ReusableBoxFuture;

/// A receiver, and the wait for its next value.
pub(crate) struct BroadcastStream<T>(ReusableBoxFuture<'static, Received<T>>);

type Received<T> = (Result<T, RecvError>, Receiver<T>);

impl<T> fmt::Debug for BroadcastStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BroadcastStream")
    }
}

impl<T: Clone + Send + 'static> BroadcastStream<T> {
    pub(crate) fn new(receiver: Receiver<T>) -> Self {
        Self(ReusableBoxFuture::new(receive(receiver)))
    }

    /// Polls the next value. What is not ready is kept, so that no value is lost.
    pub(crate) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let (received, receiver) = ready!(self.0.poll(cx));
        self.0.set(receive(receiver));
        Poll::Ready(received)
    }
}

async fn receive<T: Clone>(mut receiver: Receiver<T>) -> Received<T> {
    let received = receiver.recv().await;
    (received, receiver)
}
