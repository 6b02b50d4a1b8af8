//! The messages of a stream, one on each line. Whatever a client sends gets an answer at once. Beyond a number of
//! requests without a response, nothing is read until the client has read responses.

use std::io;
use std::sync::Arc;

use hyper::body::Bytes;
use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, GetExtensions, JsonRpcMessage, JsonRpcRequest,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use toolhost::BoxFuture;
use toolhost_runtime::lines::Lines;

use crate::handler::malformed;
use crate::incoming::{Incoming, Unreadable};
use crate::shared::ServedState;
use crate::unanswered::Unanswered;

/// Reads and writes the messages of a stream.
pub(crate) struct StreamTransport<R, W> {
    lines: Lines<R>,
    writer: Arc<Mutex<Writer<W>>>,
    unanswered: Arc<Unanswered>,
    max_unanswered: usize,
    shared: Arc<ServedState>,
    key: Arc<str>,
    /// The answer to a line that could not be read. Kept here, as a read may be dropped at any time.
    answering: Option<BoxFuture<'static, io::Result<()>>>,
}

impl<R, W> StreamTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(crate) fn new(
        read: R,
        write: W,
        shared: Arc<ServedState>,
        key: Arc<str>,
        max_unanswered: usize,
    ) -> Self {
        Self {
            lines: Lines::new(read, shared.config.message_bytes),
            writer: Arc::new(Mutex::new(Writer::new(write))),
            unanswered: Arc::default(),
            max_unanswered: max_unanswered.max(1),
            shared,
            key,
            answering: None,
        }
    }

    /// Writes a line.
    fn write(&self, mut line: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        line.push(b'\n');
        let writer = Arc::clone(&self.writer);
        async move { writer.lock().await.write(line.into()).await }
    }

    /// Reads the next message. Returns none at the end of the stream.
    async fn next(&mut self) -> Option<Result<RxJsonRpcMessage<RoleServer>, Unreadable>> {
        loop {
            let line = self.lines.next().await?;
            let config = &self.shared.config;
            let incoming = match line.text() {
                Ok([] | b"\r") => continue,
                Ok(line) => Incoming::read(line, config),
                Err(_) => Err(Unreadable::too_long(line.beginning(), config)),
            };
            match incoming.and_then(|incoming| self.message(&incoming)) {
                Ok(Some(message)) => return Some(Ok(message)),
                Ok(None) => {}
                Err(unreadable) => return Some(Err(unreadable)),
            }
        }
    }

    /// Parses a message. Returns none for a request with the id of one that runs: the SDK would lose one of the
    /// responses, and its client could not distinguish them.
    fn message(
        &self,
        incoming: &Incoming<'_>,
    ) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Unreadable> {
        let mut message: RxJsonRpcMessage<RoleServer> = incoming.parse()?;
        let JsonRpcMessage::Request(request) = &mut message else {
            return Ok(Some(message));
        };
        let id = &request.id;
        if let Some(error) = malformed::initialize(&request.request) {
            return Err(Unreadable::of_request(id.clone(), error));
        }
        incoming.mark(request.request.extensions_mut());
        let memory = self.shared.take_memory(&self.key, incoming.memory());
        let memory = memory.map_err(|error| Unreadable::of_request(id.clone(), error))?;
        if !is_listening(request) && !self.unanswered.begin(id.clone(), memory) {
            return Ok(None);
        }
        Ok(Some(message))
    }
}

impl<R, W> Transport<RoleServer> for StreamTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = id {
            self.unanswered.begin_response(id);
        }
        let is_response = id.is_some();
        let line = serde_json::to_vec(&message).map_err(io::Error::from);
        let write = line.map(|line| self.write(line));
        let unanswered = Arc::clone(&self.unanswered);
        async move {
            let result = match write {
                Ok(write) => write.await,
                Err(error) => Err(error),
            };
            if is_response {
                unanswered.end_response();
            }
            result
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                // A client that does not read ends the connection.
                answering.await.ok()?;
                self.answering = None;
            }
            self.unanswered.fewer_than(self.max_unanswered).await;
            let message = match self.next().await? {
                Ok(message) => message,
                Err(unreadable) => {
                    self.answering = Some(Box::pin(self.write(unreadable.into_answer())));
                    continue;
                }
            };
            // A cancelled request that runs gets no response.
            if let JsonRpcMessage::Notification(notification) = &message
                && let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                && let Some(id) = &cancelled.params.request_id
            {
                self.unanswered.cancel(id);
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.writer.lock().await.end().await
    }
}

/// Returns whether a request lasts until its client cancels it.
fn is_listening(request: &JsonRpcRequest<ClientRequest>) -> bool {
    matches!(
        request.request,
        ClientRequest::SubscriptionsListenRequest(_)
    )
}

/// Writes whole lines, also if a write is dropped before its end: the next one finishes it.
struct Writer<W> {
    /// None after the end.
    inner: Option<W>,
    unwritten: Bytes,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    fn new(inner: W) -> Self {
        Self {
            inner: Some(inner),
            unwritten: Bytes::new(),
        }
    }

    async fn write(&mut self, line: Bytes) -> io::Result<()> {
        let Some(inner) = &mut self.inner else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        inner.write_all_buf(&mut self.unwritten).await?;
        self.unwritten = line;
        inner.write_all_buf(&mut self.unwritten).await?;
        inner.flush().await
    }

    async fn end(&mut self) -> io::Result<()> {
        let Some(mut inner) = self.inner.take() else {
            return Ok(());
        };
        inner.shutdown().await
    }
}
