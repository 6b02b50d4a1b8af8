//! A server that listens before it has anything to serve: loading and compiling a bundle may take minutes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use rmcp::model::ErrorData;
use tokio::net::TcpListener;

use super::body::{BoxResponse, json_refusal, name_type, read, refusal, retry_after};
use super::config::HttpConfig;
use super::connections::{Acceptor, serve_one};
use super::error::HttpError;
use super::service::{HEALTH, READINESS, RETRY_SECONDS, health};
use crate::incoming::Unreadable;

/// A server that listens, and answers that it starts.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost::{Host, LiveBundle};
/// use toolhost_mcp::{HttpConfig, HttpServer, McpConfig, McpServer, ServedAgent, StartingServer};
///
/// let address = "127.0.0.1:8484".parse()?;
/// let mut starting = StartingServer::listen(address, HttpConfig::default()).await?;
/// let host = Host::builder().state_root("/var/lib/tools").build()?;
/// let loading = host.load_to_serve("goondan.yaml");
/// let bundle = starting.answer_during(loading, || "loading the bundle".to_owned()).await?;
/// let served = ServedAgent::new(LiveBundle::new(bundle));
/// let server = McpServer::new(served, McpConfig::default());
/// HttpServer::start(starting, &server)?.run().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct StartingServer {
    pub(super) acceptor: Acceptor,
    pub(super) address: SocketAddr,
    pub(super) config: HttpConfig,
}

impl StartingServer {
    /// Listens on an address.
    ///
    /// # Errors
    /// [`HttpError::Unprotected`] if other machines can reach the address and the configuration has neither
    /// tokens nor OAuth; [`HttpError::Bind`] if the address cannot be used.
    pub async fn listen(address: SocketAddr, config: HttpConfig) -> Result<Self, HttpError> {
        let is_open = config.tokens.is_empty() && config.oauth.is_none();
        if !address.ip().is_loopback() && is_open {
            return Err(HttpError::Unprotected { address });
        }
        let bind = |source| HttpError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        Ok(Self {
            acceptor: Acceptor::new(listener, config.max_connections),
            address,
            config,
        })
    }

    /// The address that the server listens on, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Awaits a future, and meanwhile answers requests: `/healthz` with 200, `/readyz` with 503, `starting` and
    /// what `progress` returns, others with 503 and an error of JSON-RPC. `progress` is called for each
    /// request to `/readyz`.
    pub async fn answer_during<T>(
        &mut self,
        work: impl Future<Output = T>,
        progress: impl Fn() -> String + Send + Sync + 'static,
    ) -> T {
        let (config, progress) = (self.config.clone(), Arc::new(progress));
        let serve = |stream| {
            let (config, progress) = (config.clone(), Arc::clone(&progress));
            async move {
                let limits = config.clone();
                let service = service_fn(move |request| {
                    let (config, progress) = (config.clone(), Arc::clone(&progress));
                    async move { answer(request, &config, &*progress).await }
                });
                // What ends it is the client's doing.
                let _has_ended = serve_one(stream, &limits, service).await.is_ok();
            }
        };
        tokio::select! {
            done = work => done,
            never = self.acceptor.accept_all(serve) => match never {},
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    config: &HttpConfig,
    progress: &impl Fn() -> String,
) -> Result<BoxResponse, Infallible> {
    let starting = StatusCode::SERVICE_UNAVAILABLE;
    let mut response = match request.uri().path() {
        HEALTH => health(&request, Ok(())),
        READINESS => {
            let text = format!("starting: {}", progress());
            health(
                &request,
                Err(retry_after(refusal(starting, &text), RETRY_SECONDS)),
            )
        }
        _ => {
            // A client may read no response before it has sent its body.
            let body = read(request.into_body(), config.body_bytes, config.read_timeout);
            match body.await {
                Ok(_) => {
                    let answer = Unreadable {
                        id: None,
                        error: ErrorData::internal_error("the server is starting", None),
                    };
                    *retry_after(json_refusal(starting, answer), RETRY_SECONDS)
                }
                Err(refusal) => *refusal,
            }
        }
    };
    name_type(&mut response);
    Ok(response)
}
