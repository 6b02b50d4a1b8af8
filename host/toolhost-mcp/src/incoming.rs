//! Reads the messages of clients, which may be anything: lines of a stream, and bodies of requests over HTTP.

use std::borrow::Cow;
use std::fmt;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, Extensions, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};
use toolhost::text;
use toolhost::tool::{JsonError, JsonLimits, JsonShape};

use crate::config::McpConfig;

/// Nesting of a message: what the parser allows.
const DEPTH_MAX: usize = 127;

/// Bytes that a parsed value is counted as.
const VALUE_BYTES: u64 = 100;

/// Longest reason of the parser, in characters. It may quote the message.
const REASON_MAX: usize = 300;

/// Where the arguments of a call are in its message.
const ARGUMENTS: &str = "/params/arguments";

/// Why the arguments of a call cannot be used. In the extensions of its request.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentsError(pub(crate) String);

/// A message within the limits. It may be no JSON.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) json: Cow<'a, str>,
    shape: JsonShape,
    pub(crate) arguments_error: Option<ArgumentsError>,
}

/// A message that cannot be read, and its answer.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// None if it cannot be read either.
    pub(crate) id: Option<RequestId>,
    pub(crate) error: ErrorData,
}

impl<'a> Incoming<'a> {
    /// Reads a message. Half of a surrogate pair is read as U+FFFD: clients that cut a text between the halves
    /// send it. A byte order mark is skipped.
    ///
    /// # Errors
    /// [`Unreadable`] if the message exceeds a limit, is not UTF-8, or has a number that cannot be held. A number
    /// in the arguments of a call is the error of the call instead.
    pub(crate) fn read(message: &'a [u8], config: &McpConfig) -> Result<Self, Unreadable> {
        let unreadable = |error| Unreadable::of(message, &error);
        let limits = limits(config);
        let json = limits.utf8(message).map_err(unreadable)?;
        let json = json.strip_prefix('\u{feff}').unwrap_or(json);
        let mut arguments_error = None;
        let checked = limits.check(json).or_else(|error| {
            let JsonError::LongInteger { place, .. } = &error else {
                return Err(error);
            };
            if !place.pointer().starts_with(ARGUMENTS) {
                return Err(error);
            }
            arguments_error = Some(ArgumentsError(format!("the message {error}")));
            limits.rounding_integers().check(json)
        });
        let (json, shape) = match checked {
            Ok(shape) => (Cow::Borrowed(json), shape),
            Err(JsonError::LoneSurrogate { .. }) => {
                let limits = limits.replacing_surrogates().rounding_integers();
                let parsed = limits.parse_measured::<Value>(json);
                let (value, shape) = parsed.map_err(unreadable)?;
                (Cow::Owned(value.to_string()), shape)
            }
            Err(error) => return Err(unreadable(error)),
        };
        Ok(Self {
            json,
            shape,
            arguments_error,
        })
    }

    /// Parses the message.
    ///
    /// # Errors
    /// [`Unreadable`] if it is not JSON, or not a message.
    pub(crate) fn parse(&self) -> Result<RxJsonRpcMessage<RoleServer>, Unreadable> {
        serde_json::from_str(&self.json).map_err(|error| self.unreadable(error))
    }

    /// Returns what is wrong with a message that could not be parsed.
    pub(crate) fn unreadable(&self, error: serde_json::Error) -> Unreadable {
        let parsed = serde_json::from_str::<Value>(&self.json);
        match (error.is_data(), parsed) {
            (true, Ok(value)) => Unreadable::of_value(&value, &error),
            _ => Unreadable::of(self.json.as_bytes(), &error.into()),
        }
    }

    /// Returns the bytes that the message takes once it is parsed.
    pub(crate) fn memory(&self) -> usize {
        let values = self.shape.values.saturating_mul(VALUE_BYTES);
        let values = usize::try_from(values).unwrap_or(usize::MAX);
        self.json.len().saturating_add(values)
    }

    /// Tells the handler of the request why its arguments cannot be used.
    pub(crate) fn mark(&self, extensions: &mut Extensions) {
        if let Some(error) = &self.arguments_error {
            extensions.insert(error.clone());
        }
    }
}

fn limits(config: &McpConfig) -> JsonLimits {
    let bytes = config.message_bytes as u64;
    JsonLimits::new(bytes, DEPTH_MAX, config.message_values)
}

impl Unreadable {
    pub(crate) fn of_request(id: RequestId, error: ErrorData) -> Self {
        let id = Some(id);
        Self { id, error }
    }

    /// The answer to a message of which only the beginning was read.
    pub(crate) fn too_long(beginning: &[u8], config: &McpConfig) -> Self {
        let most = config.message_bytes;
        let message = format!("the message has more than {most} bytes, which is the limit");
        Self {
            id: id_of(beginning),
            error: ErrorData::new(ErrorCode::PARSE_ERROR, message, None),
        }
    }

    fn of(message: &[u8], error: &JsonError) -> Self {
        let code = if matches!(error, JsonError::LongInteger { .. }) {
            ErrorCode::INVALID_PARAMS
        } else if matches!(error, JsonError::Shape { .. }) {
            ErrorCode::INVALID_REQUEST
        } else {
            ErrorCode::PARSE_ERROR
        };
        Self {
            id: id_of(message),
            error: ErrorData::new(code, format!("the message {error}"), None),
        }
    }

    /// The answer to JSON that is no message.
    fn of_value(value: &Value, error: &serde_json::Error) -> Self {
        let id = value.get("id").cloned();
        let id = id.and_then(|id| serde_json::from_value(id).ok());
        let error = match wrong_in(value) {
            Some((code, text)) => ErrorData::new(code, text, None),
            None => {
                let text = format!("the message is no request of JSON-RPC: {error}");
                ErrorData::invalid_request(text::shorten(&text, REASON_MAX), None)
            }
        };
        Self { id, error }
    }

    /// Returns the message that answers it: `{"jsonrpc", "id", "error"}`.
    pub(crate) fn into_answer(self) -> Vec<u8> {
        // JSON-RPC 2.0 §5: null if the id cannot be read. The SDK leaves it out.
        let answer = json!({"jsonrpc": "2.0", "id": self.id, "error": self.error});
        answer.to_string().into_bytes()
    }
}

/// Returns why JSON is no message: the first key that is wrong.
fn wrong_in(value: &Value) -> Option<(ErrorCode, &'static str)> {
    let invalid = |text| Some((ErrorCode::INVALID_REQUEST, text));
    let message = match value {
        Value::Object(message) => message,
        Value::Array(_) => return invalid("batches are not supported: send one message at a time"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return invalid("a message is a JSON object");
        }
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` is not \"2.0\"");
    }
    let id = message.get("id");
    if id.is_some_and(|id| serde_json::from_value::<RequestId>(id.clone()).is_err()) {
        return invalid("`id` is neither an integer nor a string");
    }
    match (message.get("method"), message.get("params")) {
        (None, _) if !message.contains_key("result") && !message.contains_key("error") => {
            invalid("the message has neither `method` nor `result` nor `error`")
        }
        (Some(Value::String(_)), Some(params)) if !params.is_object() => {
            Some((ErrorCode::INVALID_PARAMS, "`params` is not a JSON object"))
        }
        (Some(Value::String(_)), Some(params))
            if params.get("_meta").is_some_and(|meta| !meta.is_object()) =>
        {
            Some((
                ErrorCode::INVALID_PARAMS,
                "`params._meta` is not a JSON object",
            ))
        }
        (Some(Value::String(_)) | None, _) => None,
        (Some(_), _) => invalid("`method` is not a string"),
    }
}

/// Returns the id of a request, also if something after it is wrong.
fn id_of(message: &[u8]) -> Option<RequestId> {
    let mut id = None;
    let message = message.strip_prefix(b"\xef\xbb\xbf").unwrap_or(message);
    let mut reader = serde_json::Deserializer::from_slice(message);
    // It ends where the text is wrong.
    let _is_whole = IdReader(&mut id).deserialize(&mut reader).is_ok();
    id
}

/// Keeps the id of an object while it is read.
struct IdReader<'i>(&'i mut Option<RequestId>);

impl<'de> DeserializeSeed<'de> for IdReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IdReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "id" => *self.0 = map.next_value()?,
                // The id of a response is one of the server's.
                "result" | "error" => {
                    *self.0 = None;
                    return Ok(());
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> McpConfig {
        McpConfig {
            message_bytes: 2_000,
            message_values: 100,
            ..McpConfig::default()
        }
    }

    /// The answer to a message that cannot be read.
    fn answer(message: &[u8]) -> Value {
        let config = config();
        let read = Incoming::read(message, &config).and_then(|incoming| incoming.parse());
        let unreadable = read.expect_err(&String::from_utf8_lossy(message));
        serde_json::from_slice(&unreadable.into_answer()).unwrap()
    }

    #[test]
    fn what_cannot_be_read_is_answered_with_the_id_that_can_be_read() {
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"a__b","arguments":{arguments}}}}}"#
            )
        };
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let many = format!("[{}0]", "0,".repeat(100));
        let long = format!("\"{}\"", "x".repeat(3_000));
        for (message, id, code, says) in [
            (b"hello".to_vec(), Value::Null, -32700, "not valid JSON"),
            (b"{".to_vec(), Value::Null, -32700, "line 1 column 1"),
            (b"\xff".to_vec(), Value::Null, -32700, "not UTF-8 at byte 0"),
            (b"null".to_vec(), Value::Null, -32600, "JSON object"),
            (b"7".to_vec(), Value::Null, -32600, "JSON object"),
            (b"[]".to_vec(), Value::Null, -32600, "batches"),
            (b"[{\"id\":1}]".to_vec(), Value::Null, -32600, "batches"),
            (
                call("{\"a\":NaN}").into(),
                json!(7),
                -32700,
                "NaN at /params/arguments/a",
            ),
            (
                call("{\"a\":-Infinity}").into(),
                json!(7),
                -32700,
                "-Infinity",
            ),
            (call("{\"a\":1e999}").into(), json!(7), -32700, "not finite"),
            (call("{\"a\":").into(), json!(7), -32700, "not valid JSON"),
            (call(&deep).into(), json!(7), -32700, "202 deep"),
            (call(&many).into(), json!(7), -32700, "values, at most 100"),
            (call(&long).into(), json!(7), -32700, "at most 2000"),
            (
                call("{}").replace("a__b", "\u{0}").into(),
                json!(7),
                -32700,
                "control character",
            ),
            (
                [b"{\"id\":\"x\",\"a\":\"", &[0xff][..], b"\"}"].concat(),
                json!("x"),
                -32700,
                "not UTF-8",
            ),
            (
                br#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"n":18446744073709551616}}"#
                    .to_vec(),
                json!(7),
                -32602,
                "18446744073709551616 at /params/n",
            ),
            (
                br#"{"id":7,"method":"ping"}"#.to_vec(),
                json!(7),
                -32600,
                "`jsonrpc`",
            ),
            (
                br#"{"jsonrpc":"2.0","id":7}"#.to_vec(),
                json!(7),
                -32600,
                "neither `method`",
            ),
            (
                br#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#.to_vec(),
                Value::Null,
                -32600,
                "`id`",
            ),
            (
                br#"{"jsonrpc":"2.0","id":null,"method":"a"}"#.to_vec(),
                Value::Null,
                -32600,
                "`id`",
            ),
            (
                br#"{"jsonrpc":"2.0","id":7,"method":1}"#.to_vec(),
                json!(7),
                -32600,
                "`method`",
            ),
            (
                br#"{"jsonrpc":"2.0","id":7,"method":"a","params":[]}"#.to_vec(),
                json!(7),
                -32602,
                "`params`",
            ),
            // A response with an id of the server's.
            (
                br#"{"id":7,"result":NaN}"#.to_vec(),
                Value::Null,
                -32700,
                "NaN",
            ),
        ] {
            let answer = answer(&message);
            let text = String::from_utf8_lossy(&message);
            assert_eq!(answer["jsonrpc"], "2.0");
            assert!(answer.get("id").is_some(), "{answer}");
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&id, &json!(code)),
                "{text}"
            );
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_and_a_byte_order_mark_are_read() {
        let config = config();
        let half =
            br#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"t":"a\ud83d","p":"\ud83d\ude00"}}"#;
        let incoming = Incoming::read(half, &config).unwrap();
        let value: Value = serde_json::from_str(&incoming.json).unwrap();
        assert_eq!(value["params"], json!({"t": "a\u{fffd}", "p": "😀"}));
        assert!(incoming.parse().is_ok());
        let mark = b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        let incoming = Incoming::read(mark, &config).unwrap();
        assert!(incoming.parse().is_ok());
        assert!(
            matches!(incoming.json, Cow::Borrowed(_)),
            "nothing is copied"
        );
    }

    #[test]
    fn an_integer_in_arguments_that_cannot_be_held_is_the_error_of_the_call() {
        let message = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call",
            "params":{"name":"a__b","arguments":{"n":18446744073709551616,"t":"\ud83d"}}}"#;
        let config = config();
        let incoming = Incoming::read(message, &config).unwrap();
        let mut extensions = Extensions::new();
        incoming.mark(&mut extensions);
        let ArgumentsError(error) = extensions.get().unwrap();
        assert!(
            error.contains("18446744073709551616 at /params/arguments/n"),
            "{error}"
        );
        assert!(incoming.parse().is_ok());
    }

    #[test]
    fn memory_is_counted_by_values() {
        let config = config();
        let memory = |json: &[u8]| Incoming::read(json, &config).unwrap().memory();
        assert_eq!(memory(b"[[],[]]") - 7, 500);
        assert_eq!(memory(b"\"12345\""), 107);
    }
}
