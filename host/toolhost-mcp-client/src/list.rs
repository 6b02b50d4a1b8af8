//! Lists the tools of a server, within limits.

use std::collections::HashSet;

use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::{Peer, RoleClient, ServiceError};

use crate::egress_error::unauthorized;
use crate::error::bounded;
use crate::limits::McpLimits;
use crate::unauthorized::Unauthorized;

/// The tools of a server, in its order, and how many were left out.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<Tool>,
    pub(crate) is_cut: bool,
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

/// Lists the tools.
pub(crate) async fn list(
    peer: &Peer<RoleClient>,
    limits: &McpLimits,
) -> Result<ToolList, ListError> {
    let mut list = ToolList::default();
    let mut bytes = 0;
    let mut cursors = HashSet::new();
    let mut cursor = None;
    loop {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await;
        let page = page.map_err(|error| failed(&error))?;
        for tool in page.tools {
            if list.tools.len() == limits.tools {
                list.is_cut = true;
                return Ok(list);
            }
            bytes += size(&tool);
            if bytes > limits.list_bytes {
                let most = limits.list_bytes;
                return Err(ListError::Refused(format!(
                    "its tools have more than {most} bytes of descriptions and schemas"
                )));
            }
            list.tools.push(tool);
        }
        let Some(next) = page.next_cursor else {
            return Ok(list);
        };
        // Each page has a cursor of its own, and a list of empty pages would not end.
        if cursors.len() > limits.tools || !cursors.insert(next.clone()) {
            let reason = "its list of tools does not end".to_owned();
            return Err(ListError::Refused(reason));
        }
        cursor = Some(next);
    }
}

fn failed(error: &ServiceError) -> ListError {
    if matches!(error, ServiceError::TransportClosed) {
        return ListError::Lost;
    }
    if let ServiceError::TransportSend(error) = error
        && let Some(refused) = unauthorized(error)
    {
        return ListError::Unauthorized(refused.clone());
    }
    ListError::Refused(format!("its tools could not be listed: {}", bounded(error)))
}

fn size(tool: &Tool) -> usize {
    serde_json::to_string(tool).map_or(usize::MAX, |json| json.len())
}
