//! Serves the page on a listener.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower_service::Service;

use crate::page::Page;

/// Connections that may be open. A browser opens six.
const CONNECTIONS_MAX: usize = 64;

/// Time to send the head of a request, also while a connection waits for one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest time that a connection takes requests, and that its last one takes.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(600);

/// Time to wait after an error of `accept`: the process may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the page until the future is dropped, which closes its connections.
pub async fn serve(listener: TcpListener, page: Page) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection to the page cannot be accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let _is_set = stream.set_nodelay(true).is_ok();
        let page = page.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| page.clone().call(request));
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT);
            let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
            if timeout(CONNECTION_TIMEOUT, connection.as_mut())
                .await
                .is_err()
            {
                // A request that runs is answered.
                connection.as_mut().graceful_shutdown();
                let _is_ended = timeout(CONNECTION_TIMEOUT, connection).await.is_ok();
            }
            drop(slot);
        });
        while connections.try_join_next().is_some() {}
    }
}
