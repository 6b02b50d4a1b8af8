//! The agent of a command, and the catalogs of all.

use toolhost::{Agent, LiveBundle, LoadedBundle, manifest::Declares};

use super::{changesets, mcp_servers};
use crate::failure::{Failure, Hint};
use crate::settings::Settings;
use crate::terminal::Verbosity;

/// Returns the agent with this name, or the only one.
pub(super) fn agent(
    bundle: &LoadedBundle,
    name: Option<&str>,
    settings: &Settings,
) -> Result<Agent, Failure> {
    let agent = match name {
        Some(name) => bundle.agent(name),
        None => bundle.only_agent(),
    };
    let agent = agent.hint("Pass --agent NAME.")?;
    if bundle.declares() == Declares::OnlyTools && settings.verbosity >= Verbosity::Verbose {
        settings.note(&format!(
            "the bundle declares no Agent; the agent is '{}', with every tool",
            agent.name()
        ));
    }
    Ok(agent)
}

/// Returns what `look` finds in the catalogs of a bundle while they have the tools of MCP servers and of changesets.
pub(super) async fn with_all_tools<T>(
    bundle: &LoadedBundle,
    settings: &Settings,
    look: impl FnOnce() -> T,
) -> Result<T, Failure> {
    let servers = mcp_servers::start(bundle, settings).await?;
    let live = LiveBundle::new(bundle.clone());
    let _changesets = changesets::start(&live, settings)?;
    let seen = look();
    servers.close().await;
    Ok(seen)
}
