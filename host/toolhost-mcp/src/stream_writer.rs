//! The writing side of a stream, which ends the connection of a client that does not read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio_io_timeout::TimeoutWriter;
use tokio_util::sync::CancellationToken;

/// Cancels a token at the first error, such as a write that takes too long: part of a message may have been
/// written, so that no other can follow.
pub(crate) struct StreamWriter<W> {
    inner: Pin<Box<TimeoutWriter<W>>>,
    end: CancellationToken,
}

impl<W: AsyncWrite> StreamWriter<W> {
    pub(crate) fn new(writer: W, timeout: Duration, end: CancellationToken) -> Self {
        let mut inner = TimeoutWriter::new(writer);
        inner.set_timeout(Some(timeout));
        Self {
            inner: Box::pin(inner),
            end,
        }
    }

    fn ends_on_error<T>(&self, result: io::Result<T>) -> Poll<io::Result<T>> {
        if result.is_err() {
            self.end.cancel();
        }
        Poll::Ready(result)
    }
}

impl<W: AsyncWrite> AsyncWrite for StreamWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(self.inner.as_mut().poll_write(cx, bytes));
        self.ends_on_error(result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(self.inner.as_mut().poll_flush(cx));
        self.ends_on_error(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = ready!(self.inner.as_mut().poll_shutdown(cx));
        self.ends_on_error(result)
    }
}
