//! Turns the result of a server's tool into an output or an error.

use rmcp::model::ErrorData;
use serde_json::{Value, json};
use toolhost::tool::JsonLimits;
use toolhost::{HandlerError, ResourceName};

use crate::error::bounded;

/// Limits of a text that is compared with the data beside it.
const TEXT: JsonLimits = JsonLimits::new(16 << 20, 120, 500_000).replacing_surrogates();

/// Returns what the tool returned:
///
/// - its structured content, if there is nothing else but texts that repeat it;
/// - the text, if it is one block;
/// - else `{"content": […], "structuredContent"?}`, with the blocks as the server wrote them: images and
///   audio as base64 in `data` with their `mimeType`, resource links with their `uri`.
///
/// # Errors
/// The text of a result that the server marks as an error, with the code `MCP_TOOL_ERROR`;
/// `MCP_INVALID_ANSWER` and `MCP_INPUT_REQUIRED` if it is no result.
pub(crate) fn output(server: &ResourceName, result: Value) -> Result<Value, HandlerError> {
    let (content, structured) = parts(server, result)?;
    let Some(structured) = structured else {
        let text = match content.as_slice() {
            [] => return Ok(Value::Null),
            [block] => text_of(block),
            _ => None,
        };
        return Ok(match text {
            Some(text) => Value::from(text),
            None => json!({"content": content}),
        });
    };
    if repeats(&content, &structured) {
        return Ok(structured);
    }
    Ok(json!({"structuredContent": structured, "content": content}))
}

/// Returns what a tool with an output schema returned: its structured content. The other content is meant to
/// repeat it, and is dropped. Null if there is none.
///
/// # Errors
/// As [`output`].
pub(crate) fn structured_output(
    server: &ResourceName,
    result: Value,
) -> Result<Value, HandlerError> {
    let (_, structured) = parts(server, result)?;
    Ok(structured.unwrap_or_default())
}

/// Returns the blocks and the structured content of a result. Null is no structured content.
fn parts(
    server: &ResourceName,
    result: Value,
) -> Result<(Vec<Value>, Option<Value>), HandlerError> {
    let Value::Object(mut result) = result else {
        return Err(no_result(server));
    };
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => {}
        Some("input_required") => return Err(input_required(server)),
        Some(_) => return Err(no_result(server)),
    }
    let content = match result.remove("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(content)) if content.iter().all(Value::is_object) => content,
        Some(_) => return Err(no_result(server)),
    };
    let structured = result.remove("structuredContent");
    let structured = structured.filter(|structured| !structured.is_null());
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return Err(failed(server, &content, structured));
    }
    Ok((content, structured))
}

/// Whether all blocks are texts that say what the data says: the data as JSON, or the value of their member
/// `result`, in which the Python SDK wraps a value; or a text for each item of that.
fn repeats(content: &[Value], structured: &Value) -> bool {
    let Some(texts) = content.iter().map(text_of).collect::<Option<Vec<&str>>>() else {
        return false;
    };
    let wrapped = structured
        .as_object()
        .filter(|members| members.len() == 1)
        .and_then(|members| members.get("result"));
    let says = |text: &&str, data: &Value| {
        let is_text = data.as_str() == Some(text);
        is_text
            || TEXT
                .parse::<Value>(text)
                .is_ok_and(|value| is_same(&value, data))
    };
    if texts.is_empty() {
        return true;
    }
    [Some(structured), wrapped]
        .into_iter()
        .flatten()
        .any(|data| {
            let each = texts.iter().all(|text| says(text, data));
            let items = data.as_array().filter(|items| items.len() == texts.len());
            each || items
                .is_some_and(|items| texts.iter().zip(items).all(|(text, item)| says(text, item)))
        })
}

/// Whether two values are equal, `1` and `1.0` included.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| other.get(name).is_some_and(|it| is_same(one, it)))
        }
        (one, other) => one == other,
    }
}

/// Returns the text of a block, if it is one.
fn text_of(block: &Value) -> Option<&str> {
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    block
        .get("text")
        .and_then(Value::as_str)
        .filter(|_| is_text)
}

fn failed(server: &ResourceName, content: &[Value], structured: Option<Value>) -> HandlerError {
    let texts: Vec<&str> = content.iter().filter_map(text_of).collect();
    let mut message = texts.join("\n");
    if message.trim().is_empty() {
        message = match structured {
            Some(structured) => structured.to_string(),
            None => format!("The tool of the MCP server '{server}' failed and gave no reason."),
        };
    }
    HandlerError::new(message).with_code("MCP_TOOL_ERROR")
}

fn input_required(server: &ResourceName) -> HandlerError {
    let message = format!("The tool of the MCP server '{server}' asks for input of a person.");
    HandlerError::new(message)
        .with_code("MCP_INPUT_REQUIRED")
        .with_suggestion("Use another tool: this host gives no input to running calls.")
}

fn no_result(server: &ResourceName) -> HandlerError {
    invalid(server, "it is not the result of a tool")
}

/// The error of a call whose answer cannot be used.
pub(crate) fn invalid(server: &ResourceName, reason: &str) -> HandlerError {
    HandlerError::new(format!(
        "The MCP server '{server}' answered the call with something else than a tool's result: {reason}."
    ))
    .with_code("MCP_INVALID_ANSWER")
}

/// Returns the error of a request that the server refused.
pub(crate) fn refused(server: &ResourceName, error: &ErrorData) -> HandlerError {
    let (code, message) = (error.code.0, bounded(&error.message));
    refused_with(server, &format!("{message} ({code})"))
}

/// The error of a request that had no effect.
pub(crate) fn refused_with(server: &ResourceName, reason: &str) -> HandlerError {
    HandlerError::new(format!(
        "The MCP server '{server}' refused the call: {reason}."
    ))
    .with_code("MCP_REFUSED")
}

#[cfg(test)]
mod tests;
