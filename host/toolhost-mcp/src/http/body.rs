//! Reads the body of a request within limits, and makes responses.

use std::convert::Infallible;
use std::time::Duration;

use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use tokio::time::timeout;

use crate::incoming::Unreadable;

const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// A response, whatever its body is.
pub(super) type BoxResponse = Response<BoxBody<Bytes, Infallible>>;

/// A response to a request that is refused.
pub(super) type Refusal = Box<BoxResponse>;

/// Reads a body.
///
/// # Errors
/// The status 413 if it is too large, 408 if it does not arrive in time, 400 if the connection breaks.
pub(super) async fn read(
    body: Incoming,
    max_bytes: usize,
    max_time: Duration,
) -> Result<Bytes, Refusal> {
    let collected = timeout(max_time, Limited::new(body, max_bytes).collect());
    match collected.await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("the body is larger than {max_bytes} bytes"),
        )),
        Ok(Err(_)) => Err(refusal(StatusCode::BAD_REQUEST, "the body is incomplete")),
        Err(_) => Err(refusal(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive in time",
        )),
    }
}

/// Returns a response with a line of text.
pub(super) fn response(status: StatusCode, text: &str) -> BoxResponse {
    let mut response = Response::new(full(format!("{text}\n")));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static(PLAIN_TEXT);
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// Returns a response with a line of text, for a request that is refused.
pub(super) fn refusal(status: StatusCode, text: &str) -> Refusal {
    Box::new(response(status, text))
}

/// Returns the response to a message that cannot be read: the answer of JSON-RPC, with the status 400.
pub(super) fn unreadable(unreadable: Unreadable) -> Refusal {
    json_refusal(StatusCode::BAD_REQUEST, unreadable)
}

/// Returns a response with an error of JSON-RPC, for a request that is refused.
pub(super) fn json_refusal(status: StatusCode, unreadable: Unreadable) -> Refusal {
    let mut response = Response::new(full(unreadable.into_answer()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Box::new(response)
}

/// Has a client send its request again after some seconds.
pub(super) fn retry_after(mut refusal: Refusal, seconds: u16) -> Refusal {
    let seconds = HeaderValue::from(seconds);
    refusal.headers_mut().insert(header::RETRY_AFTER, seconds);
    refusal
}

/// Names the type of a body of the SDK's that is plain text: clients give up without one.
pub(super) fn name_type(response: &mut BoxResponse) {
    let is_empty = matches!(
        response.status(),
        StatusCode::ACCEPTED | StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    if !is_empty {
        let headers = response.headers_mut();
        let kind = headers.entry(header::CONTENT_TYPE);
        kind.or_insert(HeaderValue::from_static(PLAIN_TEXT));
    }
}

/// Returns a body that is in memory.
pub(super) fn full(bytes: impl Into<Bytes>) -> BoxBody<Bytes, Infallible> {
    Full::new(bytes.into()).boxed()
}
