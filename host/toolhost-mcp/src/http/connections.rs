//! Accepts connections, and drains them.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::task::TaskTracker;

use super::service::serve_request;
use super::state::State;

/// Time to wait after an error of `accept`: the process may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Time for the responses of the last calls to be made.
const RESPONSE_TIME: Duration = Duration::from_millis(100);

/// Time for the last responses to be written.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Headers of one request.
const HEADERS_MAX: usize = 64;

/// Bytes of the head of one request.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Serves connections until the server is stopped.
pub(super) async fn serve(listener: TcpListener, state: Arc<State>) {
    let slots = Arc::new(Semaphore::new(state.config.max_connections.max(1)));
    let connections = TaskTracker::new();
    let ends = state.end.clone().drop_guard();
    loop {
        let slot = tokio::select! {
            () = state.server.drain.cancelled() => break,
            slot = Arc::clone(&slots).acquire_owned() => slot,
        };
        let accepted = tokio::select! {
            () = state.server.drain.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let state = Arc::clone(&state);
                connections.spawn(async move {
                    let _slot = slot;
                    connection(stream, state).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    state.server.drained().await;
    connections.close();
    // The last responses are written; streams without a call end.
    sleep(RESPONSE_TIME).await;
    drop(ends);
    let _all_closed = timeout(CLOSE_TIMEOUT, connections.wait()).await.is_ok();
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    let _is_set = stream.set_nodelay(true).is_ok();
    let served = Arc::clone(&state);
    let service = service_fn(move |request| serve_request(Arc::clone(&served), request));
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(state.config.write_timeout));
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(state.config.read_timeout)
            .max_headers(HEADERS_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(Box::pin(stream)), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = state.server.drain.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}
