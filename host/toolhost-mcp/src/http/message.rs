//! What the checks need of a message, before the protocol reads it.

use std::borrow::Cow;
use std::fmt;

use http::{Method, StatusCode};
use hyper::body::Bytes;
use rmcp::model::{JsonObject, JsonRpcMessage, JsonRpcVersion2_0, RequestId};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::body::{Refusal, refusal, unreadable};
use crate::config::McpConfig;
use crate::handler::malformed;
use crate::incoming::{ArgumentsError, Incoming, Unreadable};

/// Bytes of a message that opens a session: the session keeps them.
const INITIALIZE_BYTES_MAX: usize = 64 << 10;

/// What the checks need of a JSON-RPC message.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// None for a notification.
    pub(super) id: Option<RequestId>,
    pub(super) opens_session: bool,
    /// Whether the response ends only when the client or the server stops.
    pub(super) is_endless: bool,
    /// The bytes that it takes once it is parsed.
    pub(super) memory: usize,
    pub(super) arguments_error: Option<ArgumentsError>,
}

/// The keys of a message that are checked.
#[derive(Deserialize)]
struct Keys<'a> {
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    id: Option<RequestId>,
    // A message that names them twice is refused, as the protocol could read another than the checks.
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    #[serde(rename = "params")]
    _params: Option<Params>,
}

impl Message {
    /// Reads the body of a request, and returns what the protocol is to read: the same, but for halves of surrogate
    /// pairs and a byte order mark. Other methods than POST have no message.
    ///
    /// # Errors
    /// The status 400 if it is not a message, 413 if it has too many values, or opens a session and is too large.
    pub(super) fn read(
        method: &Method,
        body: Bytes,
        config: &McpConfig,
    ) -> Result<(Self, Bytes), Refusal> {
        if method != Method::POST {
            let none = Self {
                is_endless: true,
                ..Self::default()
            };
            return Ok((none, body));
        }
        let incoming = Incoming::read(&body, config).map_err(unreadable)?;
        let keys: Result<Keys<'_>, _> = serde_json::from_str(&incoming.json);
        let keys = keys.map_err(|error| unreadable(incoming.unreadable(error)))?;
        let method = keys.method.as_deref();
        let opens_session = method == Some("initialize");
        if opens_session {
            check_opening(&incoming)?;
        }
        let message = Self {
            opens_session,
            is_endless: matches!(method, None | Some("subscriptions/listen")),
            id: keys.id,
            memory: incoming.memory(),
            arguments_error: incoming.arguments_error.clone(),
        };
        let body = match incoming.json {
            Cow::Borrowed(json) => body.slice_ref(json.as_bytes()),
            Cow::Owned(json) => json.into(),
        };
        Ok((message, body))
    }
}

/// Checks a message that opens a session.
fn check_opening(incoming: &Incoming<'_>) -> Result<(), Refusal> {
    if incoming.json.len() > INITIALIZE_BYTES_MAX {
        let text = format!("`initialize` is larger than {INITIALIZE_BYTES_MAX} bytes");
        return Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, &text));
    }
    match incoming.parse().map_err(unreadable)? {
        JsonRpcMessage::Request(request) => match malformed::initialize(&request.request) {
            Some(error) => Err(unreadable(Unreadable::of_request(request.id, error))),
            None => Ok(()),
        },
        JsonRpcMessage::Notification(_)
        | JsonRpcMessage::Response(_)
        | JsonRpcMessage::Error(_) => Ok(()),
    }
}

/// Parameters, of which nothing is kept. An object, and so is their `_meta`.
struct Params;

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Params;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params, A::Error> {
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    if key == "_meta" {
                        map.next_value::<Option<JsonObject>>()?;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Params)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &Method, body: &[u8]) -> Result<(Message, Bytes), Refusal> {
        let body = Bytes::copy_from_slice(body);
        Message::read(method, body, &McpConfig::default())
    }

    #[test]
    fn a_message_that_two_readers_could_read_differently_is_refused() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
            r#"{"id":1,"method":"ping"}"#,
            "",
        ] {
            let refusal = read(&Method::POST, body.as_bytes()).unwrap_err();
            assert_eq!(refusal.status(), StatusCode::BAD_REQUEST, "{body}");
            let kind = refusal.headers().get(http::header::CONTENT_TYPE);
            assert_eq!(kind.unwrap(), "application/json", "{body}");
        }
        let body = br#"{"jsonrpc":"2.0","id":"a","method":"initial\u0069ze","params":
            {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#;
        let (message, same) = read(&Method::POST, body).unwrap();
        assert!(message.opens_session, "escapes are resolved");
        assert_eq!(message.id, Some(RequestId::String("a".into())));
        assert_eq!(&*same, body);
    }

    #[test]
    fn what_the_protocol_reads_has_no_half_of_a_surrogate_pair_and_no_byte_order_mark() {
        let (_, body) = read(&Method::POST, b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\"}").unwrap();
        assert_eq!(&*body, b"{\"jsonrpc\":\"2.0\"}");
        let half = br#"{"jsonrpc":"2.0","params":{"t":"\ud83d"}}"#;
        let (_, body) = read(&Method::POST, half).unwrap();
        assert_eq!(
            &*body,
            "{\"jsonrpc\":\"2.0\",\"params\":{\"t\":\"\u{fffd}\"}}".as_bytes()
        );
        let (message, body) = read(&Method::GET, b"\xff").unwrap();
        assert!(message.is_endless && &*body == b"\xff");
    }

    #[test]
    fn what_a_session_keeps_is_bounded() {
        let padding = "x".repeat(INITIALIZE_BYTES_MAX);
        let body = |method: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","x":"{padding}"}}"#)
        };
        let opening = body("initialize");
        let refusal = read(&Method::POST, opening.as_bytes()).unwrap_err();
        assert_eq!(refusal.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(read(&Method::POST, body("tools/call").as_bytes()).is_ok());
    }
}
