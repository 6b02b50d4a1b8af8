//! Errors, which distinguish a refused request from a failed one.

use std::io::{self, ErrorKind};
use std::time::Duration;

use http_exchange::{ErrorCode, Fault};
use toolhost_guest::ToolError;
use url::Url;

pub(crate) fn url(text: &str, reason: &url::ParseError) -> ToolError {
    ToolError::new(format!("url: {reason}: {text}"))
        .name("InvalidUrlError")
        .code("INVALID_URL")
        .suggestion("pass the whole URL, such as https://example.com/path")
}

pub(crate) fn scheme(url: &Url) -> ToolError {
    ToolError::new(format!("url: `{}:` is not fetched: {url}", url.scheme()))
        .name("InvalidUrlError")
        .code("INVALID_URL")
        .suggestion("pass an http:// or https:// URL")
}

pub(crate) fn credentials(url: &Url) -> ToolError {
    let host = url.host_str().unwrap_or_default();
    ToolError::new(format!("url: holds a user or password, for {host}"))
        .name("InvalidUrlError")
        .code("INVALID_URL")
        .suggestion("pass them in the header `authorization`")
}

pub(crate) fn input(what: &str, suggestion: &str) -> ToolError {
    ToolError::new(what)
        .name("InvalidInputError")
        .code("INVALID_INPUT")
        .suggestion(suggestion)
}

/// Converts an error of a file of the workdir.
pub(crate) fn file(path: &str, error: io::Error) -> ToolError {
    let suggestion = match error.kind() {
        ErrorKind::NotFound => "check the path; paths are relative to the workdir",
        ErrorKind::IsADirectory => "pass the path of a file",
        ErrorKind::NotADirectory => "check the folders of the path; one of them is a file",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "the body is larger than this call may write: fetch a part with the header `range`"
        }
        _ => "try another path in the workdir",
    };
    ToolError::from(error).at(path).suggestion(suggestion)
}

pub(crate) fn exists(path: &str) -> ToolError {
    file(path, ErrorKind::AlreadyExists.into())
        .suggestion("choose another name, or pass `overwrite: true` to replace it")
}

fn file_changed(path: &str) -> ToolError {
    ToolError::new(format!("the file became shorter while it was sent: {path}"))
        .name("FileChangedError")
        .code("FILE_CHANGED")
        .suggestion("try once more when nothing writes to it")
}

/// The body is not what its content encoding says.
pub(crate) fn encoding(url: &Url, error: &io::Error) -> ToolError {
    ToolError::new(format!("the body does not decode: {error}: {url}"))
        .name("DecodeError")
        .code("DECODE_FAILED")
        .suggestion("ask for the plain body with the header `accept-encoding: identity`")
}

pub(crate) fn header(name: &str, what: &str) -> ToolError {
    ToolError::new(format!("header `{name}` {what}"))
        .name("InvalidHeaderError")
        .code("INVALID_HEADER")
        .suggestion("leave it out; `host` and those of the connection are the host's own")
}

pub(crate) fn redirects(most: u32, next: &Url) -> ToolError {
    ToolError::new(format!("more than {most} redirects, the next to {next}"))
        .name("TooManyRedirectsError")
        .code("TOO_MANY_REDIRECTS")
        .suggestion("fetch the last one itself, or raise `maxRedirects`")
}

/// Converts a failure of the exchange with a URL.
pub(crate) fn exchange(url: &Url, fault: Fault) -> ToolError {
    match fault {
        Fault::Timeout(time) => timeout(url, time),
        Fault::Http(code) => http(url, code),
        Fault::Header { name, reason } => header(&name, &format!("cannot be sent: {reason}")),
        Fault::File { path, error } => file(&path, error),
        Fault::FileChanged(path) => file_changed(&path),
    }
}

fn timeout(url: &Url, timeout: Duration) -> ToolError {
    let ms = timeout.as_millis();
    ToolError::new(format!("no complete answer within {ms} ms: {url}"))
        .name("TimeoutError")
        .code("TIMEOUT")
        .suggestion("try once more, or raise `timeoutMs`; the host's deadline is 30 s by default")
}

/// Converts an error of the host.
fn http(url: &Url, code: ErrorCode) -> ToolError {
    let origin = url.origin().ascii_serialization();
    let (own, name, what, suggestion) = match &code {
        ErrorCode::HttpRequestDenied => (
            "ORIGIN_DENIED",
            "DeniedError",
            format!("the policy does not allow {origin}"),
            format!(
                "do not try again; the operator may allow it with `--allow-http {origin}`, or in this tool's `http.allow`"
            ),
        ),
        ErrorCode::DestinationIpProhibited | ErrorCode::DestinationIpUnroutable => (
            "ADDRESS_DENIED",
            "DeniedError",
            format!("the address of {origin} may not be reached"),
            "do not try again; private and local addresses are closed unless the policy opens them"
                .to_owned(),
        ),
        ErrorCode::DnsTimeout | ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => (
            "DNS_FAILED",
            "NetworkError",
            format!("the name of {origin} was not found"),
            "check the host's name".to_owned(),
        ),
        ErrorCode::TlsProtocolError
        | ErrorCode::TlsCertificateError
        | ErrorCode::TlsAlertReceived(_) => (
            "TLS_FAILED",
            "NetworkError",
            format!("no secure connection to {origin}"),
            "check that the URL names the host that its certificate is for".to_owned(),
        ),
        ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => (
            "TIMEOUT",
            "TimeoutError",
            format!("no answer in time from {origin}"),
            "try once more, or raise `timeoutMs`".to_owned(),
        ),
        ErrorCode::ConnectionRefused
        | ErrorCode::ConnectionTerminated
        | ErrorCode::ConnectionLimitReached
        | ErrorCode::DestinationUnavailable => (
            "CONNECTION_FAILED",
            "NetworkError",
            format!("no connection to {origin}"),
            "check host and port; nothing may listen there".to_owned(),
        ),
        ErrorCode::HttpRequestUriInvalid | ErrorCode::HttpRequestUriTooLong => (
            "INVALID_URL",
            "InvalidUrlError",
            format!("the host does not take this URL: {url}"),
            "pass an ordinary http:// or https:// URL".to_owned(),
        ),
        // A limit of the call, with the host's text.
        ErrorCode::InternalError(Some(reason)) => (
            "HTTP_FAILED",
            "NetworkError",
            format!("the exchange with {origin} failed: {reason}"),
            "make fewer or smaller requests in one call".to_owned(),
        ),
        _ => (
            "HTTP_FAILED",
            "NetworkError",
            format!("the exchange with {origin} failed: {code}"),
            "try once more; if it fails again, say so".to_owned(),
        ),
    };
    ToolError::new(what)
        .name(name)
        .code(own)
        .suggestion(suggestion)
}
