//! Converts network errors to the error codes of `wasi:http`.

use std::error::Error as _;
use std::io;

use wasmtime_wasi_http::Error;

/// Converts an error of the HTTP connection.
pub(super) fn from_hyper(error: &hyper::Error) -> Error {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let cause = error.source();
    if let Some(Error::HttpRequestBodySize(size)) = cause.and_then(|it| it.downcast_ref()) {
        return Error::HttpRequestBodySize(*size);
    }
    let system = cause.and_then(|it| it.downcast_ref::<io::Error>());
    let kind = system.map(io::Error::kind);
    if error.is_parse_too_large() {
        return Error::HttpResponseHeaderSectionSize(None);
    }
    if kind == Some(UnexpectedEof) || error.is_incomplete_message() {
        return Error::HttpResponseIncomplete;
    }
    let reset = matches!(kind, Some(BrokenPipe | ConnectionAborted | ConnectionReset));
    if reset || error.is_closed() || error.is_canceled() {
        return Error::ConnectionTerminated;
    }
    Error::HttpProtocolError
}

/// Converts an error of the TLS handshake. The server's own words are left out.
pub(super) fn from_tls(error: &io::Error) -> Error {
    let reason = error.get_ref().and_then(|why| why.downcast_ref());
    match reason {
        Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
        Some(rustls::Error::AlertReceived(alert)) => Error::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: None,
        },
        _ => Error::TlsProtocolError,
    }
}
