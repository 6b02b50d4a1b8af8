//! Why a request to a server failed.

use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use toolhost::http::HttpClientError;

use crate::unauthorized::Unauthorized;

/// Why the egress did not return a response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    #[error(transparent)]
    Http(#[from] HttpClientError),
    /// The request was refused, and so had no effect.
    #[error(transparent)]
    Unauthorized(#[from] Unauthorized),
}

/// Returns why a request was refused for want of authorization, if that is why it failed.
pub(crate) fn unauthorized(error: &DynamicTransportError) -> Option<&Unauthorized> {
    let cause = error
        .error
        .downcast_ref::<StreamableHttpError<EgressError>>()?;
    if let StreamableHttpError::Client(EgressError::Unauthorized(unauthorized)) = cause {
        return Some(unauthorized);
    }
    None
}
