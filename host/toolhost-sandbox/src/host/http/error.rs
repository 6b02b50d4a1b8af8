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
    match reason_of_tls(error) {
        Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
        Some(rustls::Error::AlertReceived(alert)) => Error::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: None,
        },
        _ => Error::TlsProtocolError,
    }
}

fn reason_of_tls(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref().and_then(|why| why.downcast_ref())
}

/// Returns what is wrong with a server's certificate, if that is the error.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enum of rustls, which grows"
)]
pub(super) fn fault_of_certificate(error: &io::Error) -> Option<&'static str> {
    use rustls::CertificateError as Fault;
    let Some(rustls::Error::InvalidCertificate(fault)) = reason_of_tls(error) else {
        return None;
    };
    Some(match fault {
        Fault::UnknownIssuer => "its issuer is unknown",
        Fault::Expired | Fault::ExpiredContext { .. } => "it has expired",
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => "it is not valid yet",
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => {
            "it was issued for another name"
        }
        Fault::Revoked => "it was revoked",
        _ => "it is invalid",
    })
}

/// Returns why a request got no response, in words.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other errors have words of their own"
)]
pub(super) fn cause(error: &Error) -> String {
    let words = match error {
        Error::DnsError { .. } => "DNS: the name cannot be resolved",
        Error::DnsTimeout => "DNS: the name was not resolved in time",
        Error::DestinationNotFound => "DNS: the name has no address",
        Error::DestinationUnavailable => "the server cannot be reached",
        Error::ConnectionRefused => "the connection was refused",
        Error::ConnectionTerminated => "the server closed the connection",
        Error::ConnectionTimeout => "the connection was not established in time",
        Error::ConnectionReadTimeout => "the server did not respond in time",
        Error::ConnectionLimitReached => "too many connections are open",
        Error::TlsProtocolError => "TLS: the handshake failed",
        Error::TlsCertificateError => "TLS: the certificate of the server is not trusted",
        Error::TlsAlertReceived { .. } => "TLS: the server ended the handshake",
        Error::HttpResponseIncomplete => "the response ended too early",
        Error::HttpProtocolError => "the response is not valid HTTP",
        Error::HttpResponseHeaderSectionSize(_) => "the headers of the response are too large",
        Error::HttpRequestBodySize(_) => "the body of the request is too large",
        _ => return error.to_string(),
    };
    words.to_owned()
}
