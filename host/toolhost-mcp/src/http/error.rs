//! Why a server over HTTP cannot start.

use std::net::SocketAddr;

use super::oauth::OAuthConfigError;

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum HttpError {
    /// The address cannot be used.
    #[error("cannot listen on {address}")]
    Bind {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    /// The configuration of OAuth cannot be used.
    #[error("the configuration of OAuth cannot be used")]
    OAuth(#[source] OAuthConfigError),
    /// Without a token, only loopback addresses are served.
    #[error("{address} can be reached from other machines, and no token is configured")]
    Unprotected { address: SocketAddr },
}
