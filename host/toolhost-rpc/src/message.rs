//! Messages: requests and notifications of the client, responses and notifications of the server.

use serde_json::{Map, Value, json};
use toolhost::{text, tool::JsonShape};

use crate::error::{RpcError, RpcErrorCode};
use crate::memory;

/// Longest id, in bytes of JSON.
const ID_BYTES_MAX: usize = 256;

/// Longest method or id in a message, in characters.
const QUOTED_MAX: usize = 64;

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

/// Parses a line of at most `values_max` JSON values.
pub(crate) fn parse(line: &[u8], values_max: u64) -> Result<Incoming, Unreadable> {
    let unreadable = |code, message: String| (RequestId::UNKNOWN, RpcError::new(code, message));
    let line = std::str::from_utf8(line).map_err(|error| {
        unreadable(
            RpcErrorCode::Parse,
            format!("the line is not UTF-8: {error}"),
        )
    })?;
    let values = JsonShape::of(line).values;
    if values > values_max {
        let message = format!("the line has {values} JSON values, more than {values_max}");
        return Err(unreadable(RpcErrorCode::Limit, message));
    }
    let value: Value = serde_json::from_str(line).map_err(|error| {
        unreadable(
            RpcErrorCode::Parse,
            format!("the line is not JSON: {error}"),
        )
    })?;
    match value {
        Value::Object(message) => of_object(message, memory::of_line(line.len(), values)),
        Value::Array(_) => {
            let message = "batches are not supported: send one message per line".to_owned();
            Err(unreadable(RpcErrorCode::Request, message))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let message = "a message is a JSON object".to_owned();
            Err(unreadable(RpcErrorCode::Request, message))
        }
    }
}

fn of_object(mut message: Map<String, Value>, bytes: usize) -> Result<Incoming, Unreadable> {
    let wrong = |id: RequestId, text: &str| (id, RpcError::new(RpcErrorCode::Request, text));
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
        check("[0,0", Value::Null, -32700, "EOF");
        check(
            &format!("[{}0]", "0,".repeat(200)),
            Value::Null,
            -32002,
            "202 JSON values",
        );
        check(r#"{"id":1,"method":"a"}"#, json!(1), -32600, "jsonrpc");
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
        assert!(message.contains("recursion limit"), "{message}");
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
