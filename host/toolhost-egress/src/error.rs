//! Why requests fail.

use std::convert::Infallible;
use std::error::Error as _;
use std::io;

use rustls::CertificateError as Fault;
use toolhost_contract::Denial;

/// Why a request got no response, or why its response ended early. None has the server's own words.
#[expect(missing_docs, reason = "each says itself in words")]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No rule allows it, or its host has no address that is allowed.
    #[error("denied: {0}")]
    Denied(Denial),
    #[error("its method is not allowed")]
    MethodInvalid,
    #[error("its URL is invalid")]
    UriInvalid,
    #[error("its URL is too long")]
    UriTooLong,
    /// Their size in bytes.
    #[error("its headers are too large")]
    HeadersTooLarge(Option<u32>),
    #[error("a call may make {limit} HTTP requests (limits.httpRequests)")]
    TooManyRequests { limit: u64 },
    /// The limit, or else the size, in bytes.
    #[error("the body of the request is too large")]
    RequestTooLarge(Option<u64>),
    #[error("too many connections are open")]
    TooManyConnections,
    #[error("DNS: the name cannot be resolved")]
    Dns,
    #[error("DNS: the name was not resolved in time")]
    DnsTimeout,
    #[error("DNS: the name has no address")]
    NoAddress,
    #[error("the server cannot be reached")]
    Unreachable,
    #[error("the connection was refused")]
    Refused,
    #[error("the connection was not established in time")]
    ConnectTimeout,
    #[error("TLS: the handshake failed")]
    Tls,
    /// What is wrong with it.
    #[error("TLS: the certificate of the server is not trusted: {0}")]
    Certificate(&'static str),
    /// The number of its alert.
    #[error("TLS: the server ended the handshake")]
    TlsAlert(u8),
    #[error("the server closed the connection")]
    Closed,
    #[error("the server did not respond in time")]
    ReadTimeout,
    #[error("the response is not valid HTTP")]
    Protocol,
    #[error("the response ended too early")]
    Incomplete,
    #[error("the headers of the response are too large")]
    ResponseHeadersTooLarge,
    /// The limit in bytes.
    #[error("the response has more than {limit} bytes")]
    ResponseTooLarge { limit: u64 },
    #[error("the host could not start a thread for HTTP")]
    NoThread,
    #[error("the host has no settings for TLS")]
    NoTls,
}

/// For bodies that cannot fail.
impl From<Infallible> for RequestError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl RequestError {
    /// Converts an error of the HTTP connection.
    pub(crate) fn of_hyper(error: &hyper::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let cause = error.source();
        if let Some(Self::RequestTooLarge(size)) = cause.and_then(|it| it.downcast_ref()) {
            return Self::RequestTooLarge(*size);
        }
        let system = cause.and_then(|it| it.downcast_ref::<io::Error>());
        let kind = system.map(io::Error::kind);
        if error.is_parse_too_large() {
            return Self::ResponseHeadersTooLarge;
        }
        if kind == Some(UnexpectedEof) || error.is_incomplete_message() {
            return Self::Incomplete;
        }
        let reset = matches!(kind, Some(BrokenPipe | ConnectionAborted | ConnectionReset));
        if reset || error.is_closed() || error.is_canceled() {
            return Self::Closed;
        }
        Self::Protocol
    }

    /// Converts an error of the TLS handshake.
    pub(crate) fn of_tls(error: &io::Error) -> Self {
        let reason = error.get_ref().and_then(|why| why.downcast_ref());
        match reason {
            Some(rustls::Error::InvalidCertificate(fault)) => Self::Certificate(words(fault)),
            Some(rustls::Error::AlertReceived(alert)) => Self::TlsAlert(u8::from(*alert)),
            _ => Self::Tls,
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enum of rustls, which grows"
)]
fn words(fault: &Fault) -> &'static str {
    match fault {
        Fault::UnknownIssuer => "its issuer is unknown",
        Fault::Expired | Fault::ExpiredContext { .. } => "it has expired",
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => "it is not valid yet",
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => {
            "it was issued for another name"
        }
        Fault::Revoked => "it was revoked",
        _ => "it is invalid",
    }
}
