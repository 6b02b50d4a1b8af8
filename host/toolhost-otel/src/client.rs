//! The HTTP client of the exporter: hyper without TLS, on a runtime of its own.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::{Builder, Runtime};

/// Has a runtime of its own: hyper needs one, and the exporter's thread has none.
pub(super) struct Client {
    inner: HyperClient,
    runtime: Mutex<Option<Runtime>>,
}

impl Client {
    pub(super) fn start(timeout: Duration) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self {
            inner: HyperClient::with_default_connector(timeout, None),
            runtime: Mutex::new(Some(runtime)),
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

#[async_trait]
impl HttpClient for Client {
    /// Blocks: it is called on the thread of the batch processor only.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        match &*runtime {
            Some(runtime) => runtime.block_on(self.inner.send_bytes(request)),
            None => Err("the client has ended".into()),
        }
    }
}

impl Drop for Client {
    /// Dropping a runtime inside another one panics; shutting it down in the background does not.
    fn drop(&mut self) {
        let runtime = self
            .runtime
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = runtime.take() {
            runtime.shutdown_background();
        }
    }
}
