//! Starts the MCP servers of a bundle that the policy grants.

use toolhost::{LoadedBundle, ToolErrorCode};
use toolhost_mcp_client::McpServers;

use crate::failure::Failure;
use crate::settings::Settings;

/// Starts the servers, and notes those that are not granted or not available and the tools that are left
/// out.
pub(super) async fn start(
    bundle: &LoadedBundle,
    settings: &Settings,
) -> Result<McpServers, Failure> {
    let is_of_server = |message: &str| message.starts_with("McpServer/");
    for finding in bundle.diagnostics() {
        if finding.code == ToolErrorCode::Denied && is_of_server(&finding.message) {
            settings.note(&format!("{}. {}", finding.message, finding.help));
        }
    }
    let servers = McpServers::start(bundle).await.map_err(Failure::of)?;
    for warning in servers.warnings() {
        settings.note(&warning);
    }
    Ok(servers)
}
