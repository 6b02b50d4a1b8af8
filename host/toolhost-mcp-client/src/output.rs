//! Turns the result of a server's tool into an output or an error.

use rmcp::model::{CallToolResult, ContentBlock, ErrorData};
use serde_json::{Value, json};
use toolhost::{HandlerError, ResourceName};

use crate::error::bounded;

/// Returns what the tool returned:
///
/// - its structured content, if the other content is text alone: that text is meant to repeat it;
/// - the text, if it is one block;
/// - else `{"content": […], "structuredContent"?}`, with the blocks as the protocol writes them: images and
///   audio as base64 in `data` with their `mimeType`, resource links with their `uri`.
///
/// # Errors
/// The text of a result that the server marks as an error, with the code `MCP_TOOL_ERROR`.
pub(crate) fn output(server: &ResourceName, result: CallToolResult) -> Result<Value, HandlerError> {
    let CallToolResult {
        content,
        structured_content,
        is_error,
        ..
    } = result;
    if is_error == Some(true) {
        return Err(failed(server, &content, structured_content));
    }
    let is_text = |block: &ContentBlock| matches!(block, ContentBlock::Text(_));
    match (structured_content, content.as_slice()) {
        (Some(structured), blocks) if blocks.iter().all(is_text) => Ok(structured),
        (None, []) => Ok(Value::Null),
        (None, [ContentBlock::Text(text)]) => Ok(Value::String(text.text.clone())),
        (structured, blocks) => {
            let blocks = serde_json::to_value(blocks).map_err(|error| {
                HandlerError::new(bounded(error)).with_code("MCP_INVALID_ANSWER")
            })?;
            Ok(match structured {
                Some(structured) => json!({"structuredContent": structured, "content": blocks}),
                None => json!({"content": blocks}),
            })
        }
    }
}

/// Returns what a tool with an output schema returned: its structured content. The other content is meant to
/// repeat it, and is dropped. Null if there is none.
///
/// # Errors
/// As [`output`].
pub(crate) fn structured_output(
    server: &ResourceName,
    result: CallToolResult,
) -> Result<Value, HandlerError> {
    if result.is_error == Some(true) {
        return output(server, result);
    }
    Ok(result.structured_content.unwrap_or_default())
}

fn failed(
    server: &ResourceName,
    content: &[ContentBlock],
    structured: Option<Value>,
) -> HandlerError {
    let texts = content.iter().filter_map(ContentBlock::as_text);
    let texts = texts.map(|text| text.text.as_str());
    let mut message = texts.collect::<Vec<_>>().join("\n");
    if message.trim().is_empty() {
        message = match structured {
            Some(structured) => structured.to_string(),
            None => format!("The tool of the MCP server '{server}' failed and gave no reason."),
        };
    }
    HandlerError::new(message).with_code("MCP_TOOL_ERROR")
}

/// Returns the error of a request that the server refused.
pub(crate) fn refused(server: &ResourceName, error: &ErrorData) -> HandlerError {
    let (code, message) = (error.code.0, bounded(&error.message));
    HandlerError::new(format!(
        "The MCP server '{server}' refused the call: {message} ({code})."
    ))
    .with_code("MCP_REFUSED")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(result: Value) -> Result<Value, HandlerError> {
        let server = ResourceName::parse("srv").unwrap();
        output(&server, serde_json::from_value(result).unwrap())
    }

    #[test]
    fn the_output_has_every_part_of_the_content_once() {
        let text = json!({"type": "text", "text": "{\"n\": 1}"});
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
        for (result, expected) in [
            (json!({"content": []}), Value::Null),
            (json!({"content": [text]}), json!("{\"n\": 1}")),
            (
                json!({"content": [text], "structuredContent": {"n": 1}}),
                json!({"n": 1}),
            ),
            (
                json!({"content": [], "structuredContent": {"n": 1}}),
                json!({"n": 1}),
            ),
            (
                json!({"content": [text, text]}),
                json!({"content": [text, text]}),
            ),
            (
                json!({"content": [image, link]}),
                json!({"content": [image, link]}),
            ),
            (
                json!({"content": [image], "structuredContent": {"n": 1}}),
                json!({"structuredContent": {"n": 1}, "content": [image]}),
            ),
        ] {
            assert_eq!(of(result.clone()).unwrap(), expected, "{result}");
        }
    }

    #[test]
    fn a_result_marked_as_an_error_is_an_error_with_its_text() {
        for (result, expected) in [
            (
                json!({"content": [{"type": "text", "text": "no such city"}], "isError": true}),
                "no such city",
            ),
            (
                json!({"content": [], "structuredContent": {"why": 1}, "isError": true}),
                "{\"why\":1}",
            ),
            (
                json!({"content": [], "isError": true}),
                "The tool of the MCP server 'srv' failed and gave no reason.",
            ),
        ] {
            let error = of(result).unwrap_err();
            assert_eq!(error.message, expected);
            assert_eq!(error.code.as_deref(), Some("MCP_TOOL_ERROR"));
        }
    }
}
