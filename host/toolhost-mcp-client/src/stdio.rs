//! Messages as lines of a process's standard input and output.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use crate::guard::Watch;

type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The streams of a process. A line that is too long, and a message that the process does not take in
/// time, end the connection.
pub(crate) struct StdioTransport {
    lines: FramedRead<Box<dyn AsyncRead + Send + Unpin>, LinesCodec>,
    line_max: usize,
    /// None once it is closed.
    writer: Arc<Mutex<Option<Writer>>>,
    send_timeout: Duration,
    watch: Arc<Watch>,
}

impl StdioTransport {
    pub(crate) fn new(
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Writer,
        line_max: usize,
        send_timeout: Duration,
        watch: Arc<Watch>,
    ) -> Self {
        Self {
            lines: FramedRead::new(reader, LinesCodec::new_with_max_length(line_max)),
            line_max,
            writer: Arc::new(Mutex::new(Some(writer))),
            send_timeout,
            watch,
        }
    }

    /// Parses a line. None if it is not a message, which is counted.
    fn parse(&self, line: &str) -> Option<ServerJsonRpcMessage> {
        let error = match serde_json::from_str(line) {
            Ok(message) => return Some(message),
            Err(error) => error,
        };
        // An answer that no schema allows ends its request; otherwise the call would wait in vain.
        if let Some(id) = answered(line).filter(|id| self.watch.is_awaited(id)) {
            let message = format!("the answer is not valid: {error}");
            let error = ErrorData::internal_error(message, None);
            return Some(ServerJsonRpcMessage::error(error, Some(id)));
        }
        self.watch.count_unsolicited();
        // The line itself may hold results.
        tracing::debug!(target: "toolhost::mcp", %error, "a line that is not a message");
        None
    }
}

/// Returns the id of the request that a line answers.
fn answered(line: &str) -> Option<RequestId> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message.get("method").is_some() {
        return None;
    }
    message.get("id")?.as_i64().map(RequestId::Number)
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, watch) = (Arc::clone(&self.writer), Arc::clone(&self.watch));
        let limit = self.send_timeout;
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let write = async {
                let mut writer = writer.lock().await;
                let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
                writer.write_all(&line).await?;
                writer.flush().await
            };
            match tokio::time::timeout(limit, write).await {
                Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    watch.fail("it closed its standard input");
                    Err(error)
                }
                Ok(written) => written,
                Err(_) => {
                    // Half a line may have been written.
                    let seconds = limit.as_secs_f64();
                    watch.fail(format_args!("it did not read a message within {seconds} s"));
                    Err(io::ErrorKind::TimedOut.into())
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            match self.lines.next().await? {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    if let Some(message) = self.parse(&line) {
                        return Some(message);
                    }
                }
                Err(LinesCodecError::MaxLineLengthExceeded) => {
                    let most = self.line_max;
                    self.watch
                        .fail(format_args!("it sent a line of more than {most} bytes"));
                    return None;
                }
                Err(LinesCodecError::Io(error)) => {
                    self.watch.fail(format_args!(
                        "its standard output could not be read: {error}"
                    ));
                    return None;
                }
            }
            if self.watch.failed.is_cancelled() {
                return None;
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // A write that the process does not take is given up.
        if let Ok(mut writer) = self.writer.try_lock() {
            *writer = None;
        }
        Ok(())
    }
}
