//! Why a request to a server failed.

use std::fmt;

use http::StatusCode;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value;
use toolhost::http::HttpClientError;
use toolhost::tool::JsonLimits;

use crate::error::bounded;
use crate::unauthorized::Unauthorized;

/// Why the egress did not return a response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    #[error(transparent)]
    Http(#[from] HttpClientError),
    /// The request was refused, and so had no effect.
    #[error(transparent)]
    Unauthorized(#[from] Unauthorized),
    /// The response has another status than success.
    #[error("{0}")]
    Refused(#[from] HttpRefusal),
    /// The body is no answer to the request.
    #[error("{0}")]
    InvalidBody(String),
}

/// A response with another status than success.
#[derive(Debug)]
pub(crate) struct HttpRefusal {
    status: StatusCode,
    /// What the body says, shortened.
    words: String,
}

impl HttpRefusal {
    /// `body` may be the beginning of the body.
    pub(crate) fn new(status: StatusCode, body: &[u8]) -> Self {
        Self {
            status,
            words: bounded(words_of(body)),
        }
    }

    /// Whether the server refused the request itself: what is wrong with it, or who may send it.
    pub(crate) fn had_no_effect(&self) -> bool {
        let may_have_run = [StatusCode::REQUEST_TIMEOUT, StatusCode::CONFLICT];
        self.status.is_client_error() && !may_have_run.contains(&self.status)
    }
}

impl fmt::Display for HttpRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it answered with HTTP {}", self.status)?;
        match self.words.as_str() {
            "" => Ok(()),
            words => write!(f, ": {words}"),
        }
    }
}

impl std::error::Error for HttpRefusal {}

/// Limits of a body of which only a sentence is read.
const BODY: JsonLimits = JsonLimits::new(64 << 10, 32, 5_000)
    .replacing_surrogates()
    .rounding_integers();

/// Members in which servers write what is wrong, the most telling first.
const MEMBERS: [&str; 7] = [
    "message",
    "error_description",
    "detail",
    "error",
    "errors",
    "reason",
    "title",
];

/// Returns the words of a body: those of its JSON, or the text itself.
fn words_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    let Ok(value) = BODY.parse::<Value>(text) else {
        return text.to_owned();
    };
    let mut words = &value;
    // {"error": {"message": …}}, {"errors": [{"detail": …}]}
    for _ in 0..4 {
        let members = MEMBERS.iter().filter_map(|name| words.get(name));
        match members.chain(words.get(0)).find(|it| !it.is_null()) {
            Some(inner) => words = inner,
            None => break,
        }
    }
    match words.as_str() {
        Some(words) => words.to_owned(),
        None => words.to_string(),
    }
}

/// Returns the error of this crate's own client, if that is why a message was not sent.
pub(crate) fn egress_error(error: &DynamicTransportError) -> Option<&EgressError> {
    let cause = error
        .error
        .downcast_ref::<StreamableHttpError<EgressError>>()?;
    if let StreamableHttpError::Client(error) = cause {
        return Some(error);
    }
    None
}

/// Returns why a request was refused for want of authorization, if that is why it failed.
pub(crate) fn unauthorized(error: &DynamicTransportError) -> Option<&Unauthorized> {
    match egress_error(error)? {
        EgressError::Unauthorized(unauthorized) => Some(unauthorized),
        EgressError::Http(_) | EgressError::Refused(_) | EgressError::InvalidBody(_) => None,
    }
}

/// Returns why a message was not sent or not answered, without the types of the SDK.
pub(crate) fn words(error: &DynamicTransportError) -> String {
    let cause = &error.error;
    match cause.downcast_ref::<StreamableHttpError<EgressError>>() {
        None => bounded(cause),
        Some(StreamableHttpError::Client(error)) => bounded(error),
        Some(StreamableHttpError::UnexpectedServerResponse(reason)) => bounded(reason),
        Some(StreamableHttpError::SessionExpired) => {
            "its session has expired: it answered with HTTP 404".to_owned()
        }
        Some(StreamableHttpError::ResponseBodyTooLarge { max_size }) => {
            format!("its answer has more than {max_size} bytes")
        }
        Some(StreamableHttpError::UnexpectedContentType(Some(content_type))) => bounded(
            format_args!("it answered with the content type '{content_type}'"),
        ),
        Some(StreamableHttpError::UnexpectedContentType(None)) => {
            "it answered without a content type".to_owned()
        }
        Some(other) => bounded(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_refusal_are_those_of_its_body() {
        for (body, expected) in [
            (&b""[..], ""),
            (b"{\"error\": \"no seat left\"}", ": no seat left"),
            (
                b"{\"error\": {\"code\": 7, \"message\": \"no seat left\"}}",
                ": no seat left",
            ),
            (
                b"\xef\xbb\xbf{\"errors\": [{\"detail\": \"no seat\"}]}",
                ": no seat",
            ),
            (
                b"{\"jsonrpc\": \"2.0\", \"id\": null, \"error\": {\"message\": \"wait\"}}",
                ": wait",
            ),
            (b"{\"n\": 1}", ": {\"n\":1}"),
            (b"<h1>Bad gateway</h1>\n", ": <h1>Bad gateway</h1>"),
            (b"a\x1b[2Jb\xff", ": a\\u{1b}[2Jb\u{fffd}"),
        ] {
            let refusal = HttpRefusal::new(StatusCode::FORBIDDEN, body).to_string();
            let expected = format!("it answered with HTTP 403 Forbidden{expected}");
            assert_eq!(refusal, expected);
        }
        let long = HttpRefusal::new(StatusCode::FORBIDDEN, &[b'x'; 5_000]).to_string();
        assert!(long.len() < 600, "{}", long.len());
    }

    #[test]
    fn a_refused_request_had_no_effect_unless_the_server_may_have_begun() {
        for (status, expected) in [
            (400, true),
            (403, true),
            (429, true),
            (409, false),
            (503, false),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                HttpRefusal::new(status, b"").had_no_effect(),
                expected,
                "{status}"
            );
        }
    }
}
