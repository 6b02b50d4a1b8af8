//! Lists the tools of a server, within limits.

use std::collections::HashSet;

use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::{Peer, RoleClient};

use crate::config::McpLimits;
use crate::error::shown;

/// The tools of a server, in its order, and how many were left out.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<Tool>,
    pub(crate) is_cut: bool,
}

/// Lists the tools.
///
/// # Errors
/// Why there is no list.
pub(crate) async fn list(peer: &Peer<RoleClient>, limits: &McpLimits) -> Result<ToolList, String> {
    let mut list = ToolList::default();
    let mut bytes = 0;
    let mut cursors = HashSet::new();
    let mut cursor = None;
    loop {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await;
        let page =
            page.map_err(|error| format!("its tools could not be listed: {}", shown(error)))?;
        for tool in page.tools {
            if list.tools.len() == limits.tools {
                list.is_cut = true;
                return Ok(list);
            }
            bytes += size(&tool);
            if bytes > limits.list_bytes {
                let most = limits.list_bytes;
                return Err(format!(
                    "its tools have more than {most} bytes of descriptions and schemas"
                ));
            }
            list.tools.push(tool);
        }
        let Some(next) = page.next_cursor else {
            return Ok(list);
        };
        // Each page has a cursor of its own, and a list of empty pages would not end.
        if cursors.len() > limits.tools || !cursors.insert(next.clone()) {
            return Err("its list of tools does not end".to_owned());
        }
        cursor = Some(next);
    }
}

fn size(tool: &Tool) -> usize {
    let schema = serde_json::to_string(&tool.input_schema).map_or(0, |json| json.len());
    let description = tool.description.as_ref().map_or(0, |text| text.len());
    tool.name.len() + description + schema
}
