//! Accepts connections, and drains them.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::task::AbortOnDropHandle;

use super::config::HttpConfig;
use super::service::serve_request;
use super::state::HttpState;

/// Time to wait after an error of `accept`: the process may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Headers of one request.
const HEADERS_MAX: usize = 64;

/// Bytes of the head of one request.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Accepts connections, and holds what serves them. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Acceptor {
    listener: TcpListener,
    /// One permit for each connection that may be open.
    slots: Arc<Semaphore>,
    connections: JoinSet<()>,
}

impl Acceptor {
    pub(super) fn new(listener: TcpListener, max_connections: usize) -> Self {
        let slots = max_connections.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            listener,
            slots: Arc::new(Semaphore::new(slots)),
            connections: JoinSet::new(),
        }
    }

    /// Accepts connections for ever. Each is served in a task.
    pub(super) async fn accept_all<F>(&mut self, serve: impl Fn(TcpStream) -> F) -> Infallible
    where
        F: Future<Output = ()> + Send + 'static,
    {
        loop {
            let accepted = tokio::select! {
                Some(_) = self.connections.join_next() => continue,
                accepted = accept(&self.listener, &self.slots) => accepted,
            };
            match accepted {
                Ok((stream, slot)) => {
                    let served = serve(stream);
                    self.connections.spawn(async move {
                        served.await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Accepts no more, and waits until all connections are closed.
    async fn close(mut self) {
        drop(self.listener);
        while self.connections.join_next().await.is_some() {}
    }
}

/// Serves connections until the server is stopped. Dropping the future ends them.
pub(super) async fn serve(mut acceptor: Acceptor, state: Arc<HttpState>) {
    let sessions = Arc::clone(&state.sessions);
    let _idle_sessions =
        AbortOnDropHandle::new(tokio::spawn(async move { sessions.end_idle().await }));
    let ends = state.end.clone().drop_guard();
    // While calls run, health is answered and other requests are refused.
    tokio::select! {
        never = acceptor.accept_all(|stream| connection(stream, Arc::clone(&state))) => match never {},
        () = answered(&state) => {}
    }
    // Streams without a call end.
    drop(ends);
    let _all_closed = timeout(state.config.write_timeout, acceptor.close())
        .await
        .is_ok();
}

/// Waits until the server is to stop, no call runs, and the responses of calls are made.
async fn answered(state: &HttpState) {
    state.server.drained().await;
    state.responses.close();
    let responses = timeout(state.config.write_timeout, state.responses.wait());
    let _all_answered = responses.await.is_ok();
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await;
    let slot = slot.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

async fn connection(stream: TcpStream, state: Arc<HttpState>) {
    let served = Arc::clone(&state);
    let service = service_fn(move |request| serve_request(Arc::clone(&served), request));
    // One request, if the server is to stop.
    let is_draining = state.server.drain.is_cancelled();
    let builder = builder(&state.config, !is_draining);
    let mut connection =
        std::pin::pin!(builder.serve_connection(io(stream, &state.config), service));
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = state.server.drain.cancelled(), if !is_draining => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended with an error");
        let metrics = &state.server.metrics;
        metrics.count_failed_connection(reason(&error));
    }
}

/// Serves one request of a connection, and closes it.
///
/// # Errors
/// The connection broke, or what came is no HTTP.
pub(super) async fn serve_one<S>(
    stream: TcpStream,
    config: &HttpConfig,
    service: S,
) -> Result<(), hyper::Error>
where
    S: HttpService<Incoming, ResBody = BoxBody<Bytes, Infallible>, Error = Infallible>,
{
    let builder = builder(config, false);
    builder.serve_connection(io(stream, config), service).await
}

fn builder(config: &HttpConfig, keep_alive: bool) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(config.read_timeout)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(keep_alive);
    builder
}

fn io(stream: TcpStream, config: &HttpConfig) -> TokioIo<Pin<Box<TimeoutStream<TcpStream>>>> {
    let _is_set = stream.set_nodelay(true).is_ok();
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(config.write_timeout));
    TokioIo::new(Box::pin(stream))
}

/// The label of an error: the head or the reader was too slow, what came is no HTTP, or the client left.
fn reason(error: &hyper::Error) -> &'static str {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    let has_timed_out = source.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
    if error.is_timeout() || has_timed_out {
        "timeout"
    } else if error.is_parse() {
        "invalid"
    } else {
        "closed"
    }
}
