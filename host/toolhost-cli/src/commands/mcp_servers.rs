//! Starts the MCP servers of a bundle that the policy grants.

use tokio::task::JoinSet;
use toolhost::{LiveBundle, LoadedBundle, ToolErrorCode};
use toolhost_mcp_client::{McpError, McpServers};

use super::mcp;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::progress::Progress;

/// Starts the servers, and notes those that are not granted or not available and the tools that are left
/// out.
pub(super) async fn start(
    bundle: &LoadedBundle,
    settings: &Settings,
) -> Result<McpServers, Failure> {
    let servers = {
        let progress = Progress::start(settings.verbosity);
        let servers = bundle.mcp_servers().iter();
        let names = servers.map(|server| server.resource.metadata.name.as_str());
        let names: Vec<_> = names.collect();
        let what = format!("starting MCP servers: {}", names.join(", "));
        let _phase = (!names.is_empty()).then(|| progress.waiting(&what));
        start_quietly(bundle, settings).await?
    };
    note_warnings(bundle, &servers, settings);
    Ok(servers)
}

/// Starts the servers, and notes nothing.
pub(super) async fn start_quietly(
    bundle: &LoadedBundle,
    settings: &Settings,
) -> Result<McpServers, McpError> {
    McpServers::start_with(bundle, mcp::authorization(bundle, settings)).await
}

/// Starts the servers of the current bundle, and, in a task, follows the bundles that replace it. Ending the
/// task ends the servers.
pub(super) async fn follow(
    live: &LiveBundle,
    settings: &Settings,
    tasks: &mut JoinSet<()>,
) -> Result<(), Failure> {
    let mut changes = live.changes();
    let current = live.current();
    let mut granted = current.mcp_servers().to_vec();
    let mut servers = start(&current, settings).await?;
    let settings = settings.clone();
    tasks.spawn(async move {
        loop {
            let next = changes.changed().await;
            // The tools of the servers are changes as well.
            if next.mcp_servers() == granted {
                continue;
            }
            if let Err(error) = servers.update(&next).await {
                settings.note(&error.to_string());
            }
            note_warnings(&next, &servers, &settings);
            granted = next.mcp_servers().to_vec();
        }
    });
    Ok(())
}

fn note_warnings(bundle: &LoadedBundle, servers: &McpServers, settings: &Settings) {
    let is_of_server = |message: &str| message.starts_with("McpServer/");
    for finding in bundle.diagnostics() {
        if finding.code == ToolErrorCode::Denied && is_of_server(&finding.message) {
            settings.note(&format!("{}. {}", finding.message, finding.help));
        }
    }
    for warning in servers.warnings() {
        settings.note(&warning);
    }
}
