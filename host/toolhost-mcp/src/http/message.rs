//! What the checks need of a message, before the protocol reads it.

use std::borrow::Cow;

use http::{Method, StatusCode};
use rmcp::model::RequestId;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::body::{Refusal, refusal};

/// Bytes of a message that opens a session: the session keeps them.
const INITIALIZE_BYTES_MAX: usize = 64 << 10;

/// The parts of a JSON-RPC message that the checks need.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    /// None for a notification.
    pub(super) id: Option<RequestId>,
    // A message that names them twice is refused, as the protocol could read another than the checks.
    #[serde(rename = "jsonrpc")]
    _version: Option<IgnoredAny>,
}

impl<'a> Message<'a> {
    /// Reads the body of a request. Other methods than POST have none.
    ///
    /// # Errors
    /// The status 400 if it is not a message, 413 if it opens a session and is too large.
    pub(super) fn of(method: &Method, body: &'a [u8]) -> Result<Self, Refusal> {
        if method != Method::POST {
            return Ok(Self::default());
        }
        let Ok(message) = serde_json::from_slice::<Self>(body) else {
            let text = "the body is not one JSON-RPC message";
            return Err(refusal(StatusCode::BAD_REQUEST, text));
        };
        if message.opens_session() && body.len() > INITIALIZE_BYTES_MAX {
            let text = format!("`initialize` is larger than {INITIALIZE_BYTES_MAX} bytes");
            return Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, &text));
        }
        Ok(message)
    }

    pub(super) fn opens_session(&self) -> bool {
        self.method.as_deref() == Some("initialize")
    }

    /// Returns whether the response ends only when the client or the server stops.
    pub(super) fn is_endless(&self) -> bool {
        matches!(self.method.as_deref(), None | Some("subscriptions/listen"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_two_readers_could_read_differently_is_refused() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
            "",
        ] {
            let refused = Message::of(&Method::POST, body.as_bytes()).unwrap_err();
            assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{body}");
        }
        let body = br#"{"jsonrpc":"2.0","id":"a","method":"initial\u0069ze","params":{"x":[1]}}"#;
        let message = Message::of(&Method::POST, body).unwrap();
        assert!(message.opens_session(), "escapes are resolved");
        assert_eq!(message.id, Some(RequestId::String("a".into())));
    }

    #[test]
    fn what_a_session_keeps_is_bounded() {
        let padding = "x".repeat(INITIALIZE_BYTES_MAX);
        let body = |method: &str| format!(r#"{{"id":1,"method":"{method}","x":"{padding}"}}"#);
        let opening = body("initialize");
        let refused = Message::of(&Method::POST, opening.as_bytes()).unwrap_err();
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(Message::of(&Method::POST, body("tools/call").as_bytes()).is_ok());
    }
}
