//! Converts errors between `toolhost-egress` and `wasi:http`.

use toolhost_contract::Denial;
use toolhost_egress::RequestError;
use wasmtime_wasi_http::Error;

/// Returns the error that a guest gets.
pub(super) fn to_wasi(error: RequestError) -> Error {
    match error {
        RequestError::Denied(Denial::HttpNetwork { .. }) => Error::DestinationIpProhibited,
        RequestError::Denied(_) => Error::HttpRequestDenied,
        RequestError::MethodInvalid => Error::HttpRequestMethodInvalid,
        RequestError::UriInvalid => Error::HttpRequestUriInvalid,
        RequestError::UriTooLong => Error::HttpRequestUriTooLong,
        RequestError::HeadersTooLarge(bytes) => Error::HttpRequestHeaderSectionSize(bytes),
        RequestError::RequestTooLarge(bytes) => Error::HttpRequestBodySize(bytes),
        RequestError::TooManyConnections => Error::ConnectionLimitReached,
        RequestError::Dns => Error::DnsError {
            rcode: None,
            info_code: None,
        },
        RequestError::DnsTimeout => Error::DnsTimeout,
        RequestError::NoAddress => Error::DestinationNotFound,
        RequestError::Unreachable => Error::DestinationUnavailable,
        RequestError::Refused => Error::ConnectionRefused,
        RequestError::ConnectTimeout => Error::ConnectionTimeout,
        RequestError::Tls => Error::TlsProtocolError,
        RequestError::Certificate(_) => Error::TlsCertificateError,
        RequestError::TlsAlert(alert) => Error::TlsAlertReceived {
            alert_id: Some(alert),
            alert_message: None,
        },
        RequestError::Closed => Error::ConnectionTerminated,
        RequestError::ReadTimeout => Error::ConnectionReadTimeout,
        RequestError::Protocol => Error::HttpProtocolError,
        RequestError::Incomplete => Error::HttpResponseIncomplete,
        RequestError::ResponseHeadersTooLarge => Error::HttpResponseHeaderSectionSize(None),
        RequestError::ResponseTooLarge { limit } => Error::HttpResponseBodySize(Some(limit)),
        RequestError::NoTls => Error::ConfigurationError,
        RequestError::NoThread | RequestError::TooManyRequests { .. } => {
            Error::InternalError(Some(error.to_string()))
        }
    }
}

/// Converts an error of a guest's body.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the others are no fault of the server or of the network"
)]
pub(super) fn of_body(error: Error) -> RequestError {
    match error {
        Error::HttpRequestBodySize(bytes) => RequestError::RequestTooLarge(bytes),
        _ => RequestError::Protocol,
    }
}
