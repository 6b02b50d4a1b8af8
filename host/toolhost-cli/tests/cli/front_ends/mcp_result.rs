//! The ToolResult in an answer of MCP.

use serde_json::Value;

/// Puts a ToolResult together: its output is in `structuredContent`, or, where the revision has only
/// objects there, in the text. Asserts that the rest of the answer agrees with it.
pub(super) fn tool_result(answer: &Value) -> Value {
    let answer = &answer["result"];
    let mut result = answer["_meta"]["toolhost/result"].clone();
    let text = answer["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("no text: {answer}"));
    assert_eq!(answer["isError"], result["status"] == "error", "{answer}");
    match result["status"].as_str() {
        Some("ok") => {
            let in_text = || serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            let output = answer.get("structuredContent").cloned();
            let output = output.unwrap_or_else(in_text);
            let shown = output
                .as_str()
                .map_or_else(|| output.to_string(), str::to_owned);
            assert_eq!(text, shown);
            result["output"] = output;
        }
        Some("error") => {
            for part in ["message", "code", "suggestion"] {
                let part = result["error"][part].as_str().unwrap_or_default();
                assert!(text.contains(part), "{text}");
            }
        }
        _ => {
            assert_eq!(answer["structuredContent"]["handle"], result["handle"]);
            assert!(text.contains(result["handle"].as_str().unwrap()), "{text}");
        }
    }
    result
}
