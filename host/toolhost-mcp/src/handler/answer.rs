//! Converts the results of an instance's calls.

use rmcp::model::CallToolResult;
use toolhost::{Instance, ToolResult};

use crate::files::FileReader;
use crate::result::to_mcp;
use crate::shared::Shared;

/// Converts a result, with the workdir files that it names.
pub(super) async fn answer_of(
    shared: &Shared,
    instance: &Instance,
    result: &ToolResult,
) -> CallToolResult {
    to_mcp(result, FileReader::new(instance.workdir(), &shared.config)).await
}
