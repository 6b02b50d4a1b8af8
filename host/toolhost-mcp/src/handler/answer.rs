//! Converts the results of an instance's calls.

use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, CustomResult, ProtocolVersion, ServerResult};
use rmcp::service::RequestContext;
use toolhost::{Instance, ToolResult};

use crate::files;
use crate::result::{ApprovalPlace, Revision, to_mcp};
use crate::shared::ServedState;

/// Returns the revision of a request.
pub(super) fn revision(context: &RequestContext<RoleServer>) -> Revision {
    match context.protocol_version() {
        Some(version) if version >= ProtocolVersion::V_2026_07_28 => Revision::Stateless,
        _ => Revision::WithInitialize,
    }
}

/// Returns an answer to a call that the SDK did not take for one.
pub(super) fn to_custom(answer: CallToolResponse, revision: Revision) -> CustomResult {
    let mut result = serde_json::to_value(ServerResult::from(answer)).unwrap_or_default();
    if revision == Revision::WithInitialize
        && let Some(keys) = result.as_object_mut()
    {
        // The SDK removes it from the results of calls.
        keys.shift_remove("resultType");
    }
    CustomResult::new(result)
}

/// Converts a result, with the workdir files that it names. A tool that cannot read the workdir names none:
/// what it returns may come from a stranger's server.
pub(super) async fn answer_of(
    shared: &ServedState,
    instance: &Instance,
    result: &ToolResult,
    place: Option<&ApprovalPlace>,
    revision: Revision,
) -> CallToolResult {
    let access = instance.agent().tool_access(result.tool_name());
    let reads_files = access.is_some_and(|access| access.files);
    let files = match result.output() {
        Some(output) if reads_files => files::blocks(shared, instance.workdir(), output).await,
        Some(_) | None => Vec::new(),
    };
    to_mcp(result, files, place, revision)
}
