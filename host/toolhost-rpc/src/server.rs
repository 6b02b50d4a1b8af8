//! The server: its connections, and how they are drained.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use toolhost_runtime::lines::{LineMemory, Lines};

use crate::answers::AnswerQueue;
use crate::config::RpcConfig;
use crate::connection::{ConnectionEnd, RpcConnection};
use crate::error::{RpcError, RpcErrorCode};
use crate::memory::{self, Memory};
use crate::message::{RequestId, response};
use crate::session::Session;
use crate::unix_socket::UnixSocket;

/// How long the last answers may take to be written when a connection ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Pause after a connection could not be accepted, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves a host to any number of connections. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RpcServer(Arc<ServerState>);

#[derive(Debug)]
struct ServerState {
    config: Arc<RpcConfig>,
    connections: Semaphore,
    /// Memory of lines that are read and of requests that run.
    requests: Arc<Semaphore>,
    /// Bytes of answers that were not read.
    answers: Arc<Semaphore>,
    is_draining: watch::Sender<bool>,
}

impl RpcServer {
    /// Creates a server without connections.
    pub fn new(config: RpcConfig) -> Self {
        let limits = &config.limits;
        Self(Arc::new(ServerState {
            connections: Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)),
            requests: memory::shared(limits.all_bytes),
            answers: memory::shared(limits.all_bytes),
            is_draining: watch::Sender::new(false),
            config: Arc::new(config),
        }))
    }

    /// Serves one connection until it ends. Its calls end with it. Dropping the future ends it too.
    ///
    /// Runs in a tokio runtime with time and, for the methods of a host, its usual needs.
    pub async fn serve<R, W>(&self, reader: R, writer: W) -> ConnectionEnd
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let ServerState {
            config,
            connections,
            requests,
            answers,
            is_draining,
        } = &*self.0;
        let limits = &config.limits;
        let Ok(_slot) = connections.try_acquire() else {
            refuse(writer, limits.connections).await;
            return ConnectionEnd::Refused;
        };
        let lines = Lines::new(reader, limits.line_bytes).with_memory(LineMemory {
            permits: Arc::clone(requests),
            for_each: memory::permits(limits.line_bytes).min(memory::permits(limits.all_bytes)),
        });
        let unread = Memory::new(limits.answer_bytes, answers);
        let (answers, writer) = AnswerQueue::start(writer, unread, limits.line_timeout);
        let session = Session::new(Arc::clone(config), Arc::new(answers));
        let connection = RpcConnection::new(session, Memory::new(limits.request_bytes, requests));
        let end = connection.serve(lines, is_draining.subscribe()).await;
        match end {
            ConnectionEnd::NotReading => drop(writer),
            ConnectionEnd::Closed
            | ConnectionEnd::Drained
            | ConnectionEnd::LineTimeout
            | ConnectionEnd::Refused => writer.finish(FLUSH_TIMEOUT).await,
        }
        tracing::debug!(target: "toolhost::rpc", ?end, "a connection has ended");
        end
    }

    /// Serves the connections of a socket until the server is drained. Dropping the future ends them.
    pub async fn serve_socket(&self, socket: UnixSocket) {
        let mut connections = JoinSet::new();
        let mut draining = self.0.is_draining.subscribe();
        loop {
            let accepted = tokio::select! {
                biased;
                // It cannot fail: the sender is a field of `self`.
                _ = draining.wait_for(|is_draining| *is_draining) => break,
                Some(_) = connections.join_next() => continue,
                accepted = socket.accept() => accepted,
            };
            match accepted {
                Ok((reader, writer)) => {
                    let server = self.clone();
                    connections.spawn(async move { server.serve(reader, writer).await });
                }
                Err(error) => {
                    tracing::warn!(target: "toolhost::rpc", %error, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(socket);
        while connections.join_next().await.is_some() {}
    }

    /// Refuses requests from now on. A connection ends when its last request is answered; calls that run
    /// end by themselves or at their deadline.
    pub fn drain(&self) {
        self.0.is_draining.send_replace(true);
    }
}

async fn refuse(mut writer: impl AsyncWrite + Unpin, most: usize) {
    let message = format!("there are {most} connections already");
    let error = RpcError::new(RpcErrorCode::Limit, message);
    let error = error.suggesting("Close a connection, or use one for several requests.");
    let line = response(&RequestId::UNKNOWN, Err(error));
    let write = async {
        writer.write_all(line.as_bytes()).await?;
        writer.shutdown().await
    };
    // The client may have gone.
    let _ = timeout(FLUSH_TIMEOUT, write).await;
}
