//! Lists the tools of a server, within limits.

use std::collections::HashSet;

use rmcp::model::{
    ClientRequest, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ServerResult, Tool,
};
use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::{Map, Value};

use crate::answer::ListSlot;
use crate::egress_error::{unauthorized, words};
use crate::error::{McpFinding, bounded};
use crate::limits::McpLimits;
use crate::unauthorized::Unauthorized;

/// Most findings about entries of one page.
const FINDINGS_MAX: usize = 100;

/// The tools of a server, in its order, and what is wrong with the rest of its list.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<Tool>,
    pub(crate) findings: Vec<McpFinding>,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    /// The connection was lost, for a reason that others know.
    #[error("the connection was lost while its tools were listed")]
    Lost,
    /// The server requires authorization.
    #[error(transparent)]
    Unauthorized(Unauthorized),
    /// The list cannot be used.
    #[error("{0}")]
    Refused(String),
}

/// Lists the tools. A list that is too long or does not end is cut.
pub(crate) async fn list(
    peer: &Peer<RoleClient>,
    limits: &McpLimits,
) -> Result<ToolList, ListError> {
    let mut list = ToolList::default();
    let mut bytes = 0;
    let mut cursors = HashSet::new();
    let mut cursor = None;
    loop {
        let slot = ListSlot::default();
        let page = page(peer, cursor, slot.clone()).await?;
        list.findings.extend(slot.take());
        for tool in page.tools {
            // A page that comes again is no second tool.
            if list.tools.contains(&tool) {
                continue;
            }
            if list.tools.len() == limits.tools {
                let most = limits.tools;
                return Ok(list.cut(format!("the server has more than {most} tools")));
            }
            let size = size(&tool);
            let most = limits.list_bytes;
            if bytes + size > most {
                let reason = format!(
                    "it has {size} bytes of description and schemas, and the tools before it {bytes}: at most {most} are used"
                );
                list.findings.push(McpFinding::new(&tool.name, reason));
                continue;
            }
            bytes += size;
            list.tools.push(tool);
        }
        let Some(next) = page.next_cursor else {
            return Ok(list);
        };
        // Each page has a cursor of its own, and a list of empty pages would not end.
        if cursors.len() > limits.tools || !cursors.insert(next.clone()) {
            let reason = "the server's list of tools does not end: it repeats a cursor, or has more pages than tools are allowed";
            return Ok(list.cut(reason));
        }
        cursor = Some(next);
    }
}

impl ToolList {
    /// Further tools are left out.
    fn cut(mut self, reason: impl std::fmt::Display) -> Self {
        self.findings.push(McpFinding::new("…", reason));
        self
    }
}

async fn page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
    slot: ListSlot,
) -> Result<ListToolsResult, ListError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let mut request = ListToolsRequest::with_param(params);
    request.extensions.insert(slot);
    let response = peer.send_request(ClientRequest::ListToolsRequest(request));
    match response.await {
        Ok(ServerResult::ListToolsResult(page)) => Ok(page),
        Ok(_) => Err(failed(&ServiceError::UnexpectedResponse)),
        Err(error) => Err(failed(&error)),
    }
}

fn failed(error: &ServiceError) -> ListError {
    if matches!(error, ServiceError::TransportClosed) {
        return ListError::Lost;
    }
    let ServiceError::TransportSend(failed) = error else {
        return refusal(&bounded(error));
    };
    match unauthorized(failed) {
        Some(refusal) => ListError::Unauthorized(refusal.clone()),
        None => refusal(&words(failed)),
    }
}

fn refusal(reason: &str) -> ListError {
    ListError::Refused(format!("its tools could not be listed: {reason}"))
}

fn size(tool: &Tool) -> usize {
    serde_json::to_string(tool).map_or(usize::MAX, |json| json.len())
}

/// Reads a page of a list entry by entry. Entries that are no tools are findings; what is wrong with members
/// that are not used is ignored. An empty cursor is none.
///
/// # Errors
/// Why it is no page.
pub(crate) fn readable_tools(page: Value) -> Result<(ListToolsResult, Vec<McpFinding>), String> {
    let Value::Object(mut page) = page else {
        return Err("it is not an object".to_owned());
    };
    let entries = match page.remove("tools") {
        Some(Value::Array(entries)) => entries,
        None | Some(Value::Null) => Vec::new(),
        Some(_) => return Err("its 'tools' are not a list".to_owned()),
    };
    let mut findings = Vec::new();
    let mut tools = Vec::new();
    for entry in entries {
        match tool(entry) {
            Ok(tool) => tools.push(tool),
            Err(finding) if findings.len() < FINDINGS_MAX => findings.push(finding),
            Err(_) => {}
        }
    }
    let mut list = ListToolsResult::with_all_items(tools);
    let cursor = page.get("nextCursor").and_then(Value::as_str);
    list.next_cursor = cursor
        .filter(|cursor| !cursor.is_empty())
        .map(str::to_owned);
    Ok((list, findings))
}

fn tool(entry: Value) -> Result<Tool, McpFinding> {
    let Value::Object(mut entry) = entry else {
        return Err(McpFinding::new(
            "…",
            "an entry of the list is not an object",
        ));
    };
    let name = entry.remove("name");
    let Some(name) = name
        .as_ref()
        .and_then(Value::as_str)
        .filter(|it| !it.is_empty())
    else {
        return Err(McpFinding::new("…", "an entry of the list has no name"));
    };
    let input_schema = match entry.remove("inputSchema") {
        Some(Value::Object(schema)) => schema,
        None | Some(Value::Null) => {
            let reason = "it has no 'inputSchema', which says what its arguments are";
            return Err(McpFinding::new(name, reason));
        }
        Some(_) => return Err(McpFinding::new(name, "its 'inputSchema' is not an object")),
    };
    let mut used = Map::new();
    for text in ["title", "description"] {
        used.extend(
            entry
                .remove_entry(text)
                .filter(|(_, value)| value.is_string()),
        );
    }
    let output_schema = entry.remove_entry("outputSchema");
    used.extend(output_schema.filter(|(_, value)| value.is_object()));
    used.insert("name".to_owned(), Value::from(name));
    used.insert("inputSchema".to_owned(), Value::Object(input_schema));
    let tool = serde_json::from_value(Value::Object(used));
    tool.map_err(|error| McpFinding::new(name, error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_that_are_no_tools_are_findings_and_the_others_stay() {
        let schema = json!({"type": "object"});
        let page = json!({"nextCursor": "", "tools": [
            {"name": "good", "inputSchema": schema},
            {"name": "bare", "description": "d"},
            {"name": "null", "inputSchema": null},
            {"name": "text", "inputSchema": "object"},
            {"name": 7, "inputSchema": schema},
            "tool",
            {"name": "odd", "inputSchema": schema, "outputSchema": null, "description": null, "title": 1,
             "annotations": {"readOnlyHint": "yes"}, "icons": 3, "_meta": [], "execution": "now"},
        ]});
        let (list, findings) = readable_tools(page).unwrap();
        let names: Vec<&str> = list.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["good", "odd"]);
        assert_eq!(list.next_cursor, None);
        let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            [
                "the tool 'bare' is left out: it has no 'inputSchema', which says what its arguments are",
                "the tool 'null' is left out: it has no 'inputSchema', which says what its arguments are",
                "the tool 'text' is left out: its 'inputSchema' is not an object",
                "the tool '…' is left out: an entry of the list has no name",
                "the tool '…' is left out: an entry of the list is not an object",
            ]
        );
        for (empty, cursor) in [
            (json!({}), None),
            (json!({"tools": null, "nextCursor": null}), None),
            (
                json!({"tools": [], "nextCursor": "a"}),
                Some("a".to_owned()),
            ),
        ] {
            let (list, findings) = readable_tools(empty).unwrap();
            assert!(list.tools.is_empty() && findings.is_empty());
            assert_eq!(list.next_cursor, cursor);
        }
        assert!(
            readable_tools(json!([])).is_err() && readable_tools(json!({"tools": {}})).is_err()
        );
    }
}
