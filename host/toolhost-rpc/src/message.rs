//! Messages: requests and notifications of the client, responses and notifications of the server.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolhost::text;
use toolhost::tool::{JsonError, JsonLimits};

use crate::error::{RpcError, RpcErrorCode};
use crate::memory;

/// Longest id, in bytes of JSON.
const ID_BYTES_MAX: usize = 256;

/// Longest method or id in a message, in characters.
const QUOTED_MAX: usize = 64;

/// Deepest nesting of a line: that of the parser.
const DEPTH_MAX: usize = 127;

/// The id of a request: a string or an integer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestId(Value);

impl RequestId {
    /// The id of a response to a request whose id cannot be read.
    pub(crate) const UNKNOWN: Self = Self(Value::Null);

    fn parse(value: Value) -> Option<Self> {
        let is_allowed = match &value {
            Value::String(text) => text.len() <= ID_BYTES_MAX,
            Value::Number(number) => number.is_i64() || number.is_u64(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        };
        is_allowed.then_some(Self(value))
    }

    /// Returns the id as JSON, which identifies it.
    pub(crate) fn key(&self) -> String {
        self.0.to_string()
    }
}

/// A message of the client.
#[derive(Debug)]
pub(crate) enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: Value,
        /// The memory that it takes.
        bytes: usize,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// A response: the server sends no requests.
    Response,
}

/// A message that cannot be read, and the id that its error is sent with.
pub(crate) type Unreadable = (RequestId, RpcError);

/// Parses a line of at most `values_max` JSON values. Its bytes are limited where it is read.
pub(crate) fn parse(line: &[u8], values_max: u64) -> Result<Incoming, Unreadable> {
    let limits = JsonLimits::new(u64::MAX, DEPTH_MAX, values_max);
    let text = limits.utf8(line);
    let text = text.map_err(|error| unreadable(RequestId::UNKNOWN, &error))?;
    let (value, shape): (Value, _) = limits
        .parse_measured(text)
        .map_err(|error| unreadable(id_of(text, limits), &error))?;
    match value {
        Value::Object(message) => of_object(message, memory::of_line(line.len(), shape.values)),
        Value::Array(_) => {
            let message = "batches are not supported: send one message per line";
            Err(wrong(RequestId::UNKNOWN, message))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(wrong(RequestId::UNKNOWN, "a message is a JSON object"))
        }
    }
}

fn unreadable(id: RequestId, error: &JsonError) -> Unreadable {
    let code = if matches!(error, JsonError::TooMany { .. }) {
        RpcErrorCode::Limit
    } else {
        RpcErrorCode::Parse
    };
    (id, RpcError::new(code, format!("the line {error}")))
}

fn wrong(id: RequestId, text: &str) -> Unreadable {
    (id, RpcError::new(RpcErrorCode::Request, text))
}

/// Returns the id of a request that is refused for a number or a string that cannot be held.
fn id_of(text: &str, limits: JsonLimits) -> RequestId {
    #[derive(Deserialize)]
    struct Id {
        id: Value,
    }
    let limits = limits.rounding_integers().replacing_surrogates();
    let parsed = limits.parse(text).ok();
    let id = parsed.and_then(|Id { id }| RequestId::parse(id));
    id.unwrap_or(RequestId::UNKNOWN)
}

fn of_object(mut message: Map<String, Value>, bytes: usize) -> Result<Incoming, Unreadable> {
    let is_response = message.contains_key("result") || message.contains_key("error");
    if is_response && !message.contains_key("method") {
        return Ok(Incoming::Response);
    }
    let id = match message.remove("id") {
        None => None,
        Some(id) => Some(RequestId::parse(id).ok_or_else(|| {
            let text = "`id` is neither an integer nor a string of at most 256 bytes";
            wrong(RequestId::UNKNOWN, text)
        })?),
    };
    let for_answer = || id.clone().unwrap_or(RequestId::UNKNOWN);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(wrong(for_answer(), "`jsonrpc` is not \"2.0\""));
    }
    let Some(Value::String(method)) = message.remove("method") else {
        return Err(wrong(for_answer(), "`method` is not a string"));
    };
    let params = message.remove("params").unwrap_or_else(|| json!({}));
    if let Some(other) = message.keys().find(|key| *key != "jsonrpc") {
        let text = format!("a request has no member `{}`", quoted(other));
        return Err(wrong(for_answer(), &text));
    }
    Ok(match id {
        Some(id) => Incoming::Request {
            id,
            method,
            params,
            bytes,
        },
        None => Incoming::Notification { method, params },
    })
}

/// Parses the parameters of `$/cancel`: `{"id": 1}`.
pub(crate) fn cancelled_id(params: &Value) -> Option<RequestId> {
    RequestId::parse(params.get("id")?.clone())
}

/// Returns the line of a response.
pub(crate) fn response(id: &RequestId, answer: Result<Value, RpcError>) -> String {
    let id = &id.0;
    line(&match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.to_json()}),
    })
}

/// Returns the line of a notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// Control characters and characters that some readers take for the end of a line are escaped, as the
/// command line does.
fn line(message: &Value) -> String {
    let json = message.to_string();
    let mut line = text::escape_json(&json).into_owned();
    line.push('\n');
    line
}

/// Returns a text of the client's for a message.
pub(crate) fn quoted(text: &str) -> String {
    text::shorten(text, QUOTED_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a line that cannot be read.
    fn refused(line: &str) -> Value {
        let (id, error) = parse(line.as_bytes(), 100).unwrap_err();
        let mut answer: Value = serde_json::from_str(&response(&id, Err(error))).unwrap();
        answer["error"].as_object_mut().unwrap().remove("data");
        answer
    }

    #[test]
    fn a_line_that_is_no_request_is_answered_with_the_id_that_it_has() {
        let check = |line: &str, id: Value, code: i32, says: &str| {
            let answer = refused(line);
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&id, &json!(code))
            );
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(says), "{message}");
        };
        check("", Value::Null, -32700, "EOF");
        check("{", Value::Null, -32700, "line 1 column 1");
        check(&"[".repeat(90), Value::Null, -32700, "EOF");
        check("[]", Value::Null, -32600, "batches");
        check("7", Value::Null, -32600, "JSON object");
        check("\u{feff}{}", Value::Null, -32700, "byte order mark");
        check("[0,0", Value::Null, -32700, "EOF");
        check(
            &format!("[{}0]", "0,".repeat(200)),
            Value::Null,
            -32002,
            "202 values",
        );
        check(r#"{"id":1,"method":"a"}"#, json!(1), -32600, "jsonrpc");
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"a","param":{"a":1}}"#,
            json!(1),
            -32600,
            "no member `param`",
        );
        check(
            r#"{"jsonrpc":"2.0","id":"x"}"#,
            json!("x"),
            -32600,
            "method",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#,
            Value::Null,
            -32600,
            "`id`",
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
            Value::Null,
            -32600,
            "`id`",
        );
        let long = format!(
            r#"{{"jsonrpc":"2.0","id":"{}","method":"a"}}"#,
            "x".repeat(300)
        );
        check(&long, Value::Null, -32600, "256 bytes");
    }

    #[test]
    fn nesting_beyond_that_of_the_parser_is_refused() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{}{}}}"#,
            "[".repeat(5000),
            "]".repeat(5000)
        );
        let (_, error) = parse(deep.as_bytes(), u64::MAX).unwrap_err();
        let message = error.to_json()["message"].to_string();
        assert!(message.contains("nested 5001 deep"), "{message}");
    }

    #[test]
    fn a_number_that_would_be_rounded_is_answered_with_the_id_and_its_place() {
        let check = |arg: &str, id: Value, says: &str| {
            let line = format!(
                r#"{{"params":{{"call":{{"args":{{"n":[0,{arg}]}}}}}},"jsonrpc":"2.0","id":7,"method":"a"}}"#
            );
            let answer = refused(&line);
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&id, &json!(-32700))
            );
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(says), "{message}");
        };
        let at = "at /params/call/args/n/1";
        check(
            "123456789012345678901234567890",
            json!(7),
            &format!("the integer 123456789012345678901234567890 {at}"),
        );
        check(r#""\ud83d""#, json!(7), at);
        check("NaN", Value::Null, &format!("NaN {at}"));
        let exact = r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"n":18446744073709551615}}"#;
        let Ok(Incoming::Request { params, .. }) = parse(exact.as_bytes(), 100) else {
            panic!("refused");
        };
        assert_eq!(params.to_string(), r#"{"n":18446744073709551615}"#);
    }

    #[test]
    fn responses_are_not_answered() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"id":null,"error":{}}"#,
        ] {
            assert!(matches!(
                parse(line.as_bytes(), 100),
                Ok(Incoming::Response)
            ));
        }
    }

    #[test]
    fn a_line_has_no_characters_that_end_a_line_elsewhere() {
        let line = notification("n", &json!({"text": "a\u{2028}b\nc\u{85}"}));
        assert_eq!(line.matches(char::is_control).count(), 1);
        assert!(line.ends_with("\n") && !line.contains('\u{2028}'));
    }
}
