//! Accepts connections, and drains them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::task::AbortOnDropHandle;

use super::service::serve_request;
use super::state::State;

/// Time to wait after an error of `accept`: the process may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Headers of one request.
const HEADERS_MAX: usize = 64;

/// Bytes of the head of one request.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Serves connections until the server is stopped. Dropping the future ends them.
pub(super) async fn serve(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    let sessions = Arc::clone(&state.sessions);
    let _idle_sessions =
        AbortOnDropHandle::new(tokio::spawn(async move { sessions.end_idle().await }));
    let ends = state.end.clone().drop_guard();
    // While calls run, health is answered and other requests are refused.
    tokio::select! {
        () = accept_all(&listener, &state, &mut connections) => {}
        () = answered(&state) => {}
    }
    drop(listener);
    // Streams without a call end.
    drop(ends);
    let closed = async { while connections.join_next().await.is_some() {} };
    let _all_closed = timeout(state.config.write_timeout, closed).await.is_ok();
}

/// Waits until the server is to stop, no call runs, and the responses of calls are made.
async fn answered(state: &State) {
    state.server.drained().await;
    state.responses.close();
    let responses = timeout(state.config.write_timeout, state.responses.wait());
    let _all_answered = responses.await.is_ok();
}

/// Accepts connections for ever.
async fn accept_all(listener: &TcpListener, state: &Arc<State>, connections: &mut JoinSet<()>) {
    let slots = Arc::new(Semaphore::new(state.config.max_connections.max(1)));
    loop {
        let accepted = tokio::select! {
            Some(_) = connections.join_next() => continue,
            accepted = accept(listener, &slots) => accepted,
        };
        match accepted {
            Ok((stream, slot)) => {
                let state = Arc::clone(state);
                connections.spawn(async move {
                    connection(stream, state).await;
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

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await;
    let slot = slot.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    let _is_set = stream.set_nodelay(true).is_ok();
    let served = Arc::clone(&state);
    let service = service_fn(move |request| serve_request(Arc::clone(&served), request));
    // One request, if the server is to stop.
    let is_draining = state.server.drain.is_cancelled();
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(state.config.write_timeout));
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(state.config.read_timeout)
            .max_headers(HEADERS_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .keep_alive(!is_draining)
            .serve_connection(TokioIo::new(Box::pin(stream)), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = state.server.drain.cancelled(), if !is_draining => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
        let metrics = &state.server.metrics;
        metrics.count_failed_connection(reason(&error));
    }
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
