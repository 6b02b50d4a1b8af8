//! Failures with the exit codes and the words of curl.

use std::io;

use http_exchange::url::Url;
use http_exchange::{ErrorCode, Fault};

use crate::commands::call::Failure;
use crate::files::text_of;

/// How far a transfer got, for the words of a timeout.
#[derive(Clone, Copy, Default)]
pub(super) struct Progress {
    pub(super) millis: u128,
    pub(super) received: u64,
    pub(super) length: Option<u64>,
    pub(super) has_head: bool,
}

pub(super) fn of_url(reason: &str) -> Failure {
    Failure::new(
        3,
        format!("URL using bad/illegal format or missing URL: {reason}"),
    )
}

pub(super) fn of_scheme(scheme: &str) -> Failure {
    let text = format!("Protocol \"{scheme}\" not supported or disabled in libcurl");
    Failure::new(1, text)
}

/// A file that cannot be written.
pub(super) fn of_output(operand: &str, error: &io::Error) -> Failure {
    let reason = text_of(error);
    let text = format!("Failure writing output to destination: {operand}: {reason}");
    Failure::new(23, text)
}

/// A file that cannot be read.
pub(super) fn of_input(operand: &str, reason: &str) -> Failure {
    let text = format!("Failed to open/read local data from file/application: {operand}: {reason}");
    Failure::new(26, text)
}

/// Converts a failure of an exchange.
pub(super) fn of_exchange(url: &Url, fault: Fault, progress: Progress) -> Failure {
    let code = match fault {
        Fault::Http(code) => code,
        Fault::Timeout(_) => return timeout(progress),
        Fault::Header { name, reason } => {
            let text = format!(
                "the header `{name}` cannot be sent: {reason}; the host sets those of the connection"
            );
            return Failure::usage(text);
        }
        Fault::File { path, error } => return of_input(&path, &text_of(&error)),
        Fault::FileChanged(path) => {
            return of_input(&path, "the file became shorter while it was sent");
        }
    };
    let (host, port) = (
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or_default(),
    );
    let origin = url.origin().ascii_serialization();
    let to = format!("Failed to connect to {host} port {port}");
    match code {
        ErrorCode::HttpRequestDenied => Failure::new(
            7,
            format!(
                "{to}: the policy does not allow this request. Do not try again; the operator may \
                 allow it with `--allow-http {origin}`, or in `http.allow` of this tool"
            ),
        ),
        ErrorCode::DestinationIpProhibited | ErrorCode::DestinationIpUnroutable => Failure::new(
            7,
            format!(
                "{to}: its address is not public. Do not try again; private and local addresses are \
                 closed unless a rule of the policy names them"
            ),
        ),
        ErrorCode::DnsTimeout | ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => {
            Failure::new(6, format!("Could not resolve host: {host}"))
        }
        ErrorCode::TlsCertificateError => Failure::new(
            60,
            format!("SSL certificate problem: the one of {host} is not trusted"),
        ),
        ErrorCode::TlsProtocolError | ErrorCode::TlsAlertReceived(_) => {
            Failure::new(35, format!("no secure connection to {host}:{port}: {code}"))
        }
        ErrorCode::ConnectionRefused
        | ErrorCode::ConnectionLimitReached
        | ErrorCode::DestinationUnavailable => {
            let ms = progress.millis;
            Failure::new(7, format!("{to} after {ms} ms: Couldn't connect to server"))
        }
        ErrorCode::ConnectionTimeout => {
            let ms = progress.millis;
            Failure::new(28, format!("{to} after {ms} ms: Timeout was reached"))
        }
        ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => timeout(progress),
        ErrorCode::HttpRequestUriInvalid | ErrorCode::HttpRequestUriTooLong => {
            of_url("the host does not take it")
        }
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete
            if !progress.has_head =>
        {
            Failure::new(52, "Empty reply from server")
        }
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => incomplete(progress),
        ErrorCode::HttpResponseBodySize(_) => Failure::new(
            63,
            "Maximum file size exceeded: the policy's limit `httpResponseBytes` of this call",
        ),
        // A limit of the call, with the host's text.
        ErrorCode::InternalError(Some(reason)) => {
            Failure::new(56, format!("the exchange with {origin} failed: {reason}"))
        }
        code => Failure::new(56, format!("the exchange with {origin} failed: {code}")),
    }
}

fn incomplete(progress: Progress) -> Failure {
    let text = match progress.length {
        Some(length) => {
            let left = length.saturating_sub(progress.received);
            format!("transfer closed with {left} bytes remaining to read")
        }
        None => "transfer closed with outstanding read data remaining".to_owned(),
    };
    Failure::new(18, text)
}

fn timeout(progress: Progress) -> Failure {
    let Progress {
        millis, received, ..
    } = progress;
    let of = match progress.length {
        Some(length) => format!(" out of {length}"),
        None => String::new(),
    };
    let text = format!(
        "Operation timed out after {millis} milliseconds with {received}{of} bytes received"
    );
    Failure::new(28, text)
}
