//! Converts a ToolResult to a result of MCP.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Value, json};
use toolhost::{ToolResult, ToolStatus};

use crate::tool::{APPROVAL, POLL};

/// Key of `_meta` under which the whole ToolResult is, but for an output, which `structuredContent` holds.
const RESULT_KEY: &str = "toolhost/result";

/// Key of `_meta` under which the files are that the call changed in its workdir, if any.
const CHANGES_KEY: &str = "toolhost/changes";

/// What a pending result says of the place where somebody decides about it.
pub(crate) struct ApprovalPlace {
    /// The address of the approval on the page.
    pub(crate) url: String,
    /// Whether the client can show a card.
    pub(crate) has_card: bool,
}

/// The revisions of the protocol that differ in what a result may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revision {
    /// 2025-11-25 and older: only an object may be structured content.
    WithInitialize,
    /// 2026-07-28: any value may be.
    Stateless,
}

/// Converts a result. `files` are the blocks of the workdir files that the output names, `place` is where somebody
/// decides about a call that waits for approval.
///
/// | ToolResult | content | structuredContent | isError |
/// |---|---|---|---|
/// | `ok` | the output as JSON, or a string as it is; a block for the [note](ToolResult::note); one block for each workdir file that it names | the output; with older revisions only an object | false |
/// | `error` | message, code, suggestion and page, a line each | none | true |
/// | `pending` | the handle, how to poll, that it waits for approval, and where | `{status, handle, details?, approvalUrl?}` | false |
pub(crate) fn to_mcp(
    result: &ToolResult,
    files: Vec<ContentBlock>,
    place: Option<&ApprovalPlace>,
    revision: Revision,
) -> CallToolResult {
    let mut converted = match result.status() {
        ToolStatus::Ok => {
            let output = result.output().cloned().unwrap_or_default();
            let mut content = vec![ContentBlock::text(output_text(&output))];
            content.extend(result.note().map(ContentBlock::text));
            content.extend(files);
            let mut converted = CallToolResult::success(content);
            if revision == Revision::Stateless || output.is_object() {
                converted.structured_content = Some(output);
            }
            converted
        }
        ToolStatus::Error => CallToolResult::error(vec![ContentBlock::text(result.to_text())]),
        ToolStatus::Pending => pending(result, place),
    };
    converted.meta = Some(meta(result));
    converted
}

fn output_text(output: &Value) -> String {
    let text = output.as_str();
    text.map_or_else(|| output.to_string(), str::to_owned)
}

fn pending(result: &ToolResult, place: Option<&ApprovalPlace>) -> CallToolResult {
    let handle = result.handle().unwrap_or_default();
    let mut text = format!(
        "PENDING: the call continues. Call the tool `{POLL}` with {} for its result.",
        json!({ "handle": handle })
    );
    let mut structured = json!({ "status": "pending", "handle": handle });
    if let Some(details) = result.awaits_approval() {
        text = format!("{text}\n{}", details.for_model());
        if let Value::Object(members) = &mut structured {
            members.insert("details".to_owned(), json!(details));
            if let Some(place) = place {
                members.insert("approvalUrl".to_owned(), json!(place.url));
            }
        }
    }
    if let Some(ApprovalPlace { url, has_card }) = place {
        text = format!("{text}\nAsk the user to open {url}, where it is decided.");
        if *has_card {
            let arguments = json!({ "handle": handle });
            text = format!(
                "{text} Call the tool `{APPROVAL}` with {arguments} once: it shows the user a card."
            );
        }
    }
    let mut converted = CallToolResult::success(vec![ContentBlock::text(text)]);
    converted.structured_content = Some(structured);
    converted
}

fn meta(result: &ToolResult) -> MetaObject {
    let changes = &result.usage().changes;
    let mut result = serde_json::to_value(result).unwrap_or_default();
    if let Some(fields) = result.as_object_mut() {
        fields.remove("output");
    }
    let mut meta = MetaObject::new();
    meta.insert(RESULT_KEY.to_owned(), result);
    if !changes.is_empty() {
        let changes = serde_json::to_value(changes).unwrap_or_default();
        meta.insert(CHANGES_KEY.to_owned(), changes);
    }
    meta
}

#[cfg(test)]
mod tests {
    use toolhost::Usage;
    use toolhost::workdir::{FileChange, FileChangeKind};

    use super::*;

    #[test]
    fn the_metadata_of_a_result_lists_the_files_that_its_call_changed() {
        let mut usage = Usage::default();
        let created = FileChange::new("a.md", FileChangeKind::Created);
        usage.changes.files.push(created);
        let result = ToolResult::ok("call_1", "a__b", json!({"n": 1}));
        let meta = |result: &ToolResult| {
            let converted = to_mcp(result, Vec::new(), None, Revision::Stateless);
            serde_json::to_value(converted).unwrap()["_meta"].take()
        };
        assert!(meta(&result).get(CHANGES_KEY).is_none());
        let meta = meta(&result.with_usage(usage));
        assert_eq!(
            meta[CHANGES_KEY],
            json!({"files": [{"path": "a.md", "kind": "created"}], "truncated": false})
        );
        assert_eq!(meta[RESULT_KEY]["status"], "ok");
    }

    #[test]
    fn an_output_whose_changes_were_dropped_has_a_note_as_a_block_of_its_own() {
        let mut usage = Usage::default();
        usage.changes_dropped = true;
        let result = ToolResult::ok("call_1", "a__b", json!({"n": 1})).with_usage(usage);
        let converted = to_mcp(&result, Vec::new(), None, Revision::Stateless);
        let converted = serde_json::to_value(converted).unwrap();
        let note = result.note().unwrap();
        let blocks = [
            &converted["content"][0]["text"],
            &converted["content"][1]["text"],
        ];
        assert_eq!(blocks, [&json!("{\"n\":1}"), &json!(note)]);
        assert_eq!(converted["structuredContent"], json!({"n": 1}));
        assert_eq!(converted["isError"], false);
        assert_eq!(converted["_meta"][RESULT_KEY]["note"], note);
    }
}
