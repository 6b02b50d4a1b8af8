//! Messages as lines of a process's standard input and output.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use crate::guard::Watch;
use crate::inbox::Incoming;

type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The streams of a process. A line that is too long, and a message that the process does not take in
/// time, end the connection.
pub(crate) struct StdioTransport {
    reader: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    line_max: usize,
    /// The line that arrives, or that is being read.
    line: Vec<u8>,
    is_line_whole: bool,
    /// Messages of earlier lines.
    messages: VecDeque<ServerJsonRpcMessage>,
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
            reader: BufReader::new(reader),
            line_max,
            line: Vec::new(),
            is_line_whole: false,
            messages: VecDeque::new(),
            writer: Arc::new(Mutex::new(Some(writer))),
            send_timeout,
            watch,
        }
    }
}

impl StdioTransport {
    /// Reads the rest of a line. None at the end, and as soon as the line is too long: it need not end.
    /// Cancel safe.
    async fn read_line(&mut self) -> Option<()> {
        loop {
            let read = match self.reader.fill_buf().await {
                Ok([]) => return None,
                Ok(read) => read,
                Err(error) => {
                    self.watch.fail(format_args!(
                        "its standard output could not be read: {error}"
                    ));
                    return None;
                }
            };
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
            if self.line.len() + part.len() > self.line_max {
                let most = self.line_max;
                self.watch
                    .fail(format_args!("it sent a line of more than {most} bytes"));
                return None;
            }
            self.line.extend_from_slice(part);
            let length = part.len() + usize::from(end.is_some());
            self.reader.consume(length);
            if end.is_some() {
                self.is_line_whole = true;
                return Some(());
            }
        }
    }
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
            if self.watch.failed.is_cancelled() {
                return None;
            }
            if let Some(message) = self.messages.pop_front() {
                return Some(message);
            }
            if !self.is_line_whole {
                self.read_line().await?;
            }
            // The line stays until it is read: this future may be dropped.
            let incoming = Incoming::of(&self.line).await;
            self.messages.extend(self.watch.read(&incoming));
            drop(incoming);
            self.line = Vec::new();
            self.is_line_whole = false;
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
