//! The commands.

mod auth;
mod build;
mod cache;
mod call;
mod callback;
mod caller;
mod changesets;
mod check;
mod completions;
mod component;
mod dev;
mod docs;
mod doctor;
mod grant_callbacks;
mod inspect;
mod instances;
mod list;
mod lock;
mod manifest_file;
mod mcp;
mod mcp_servers;
mod new;
mod packages;
mod play;
mod recording_file;
mod replay;
mod resume;
mod rpc;
mod script;
mod search;
mod serve;
mod test;
mod undo;
mod wit;

pub(crate) use auth::auth;
pub(crate) use build::build;
pub(crate) use cache::cache;
pub(crate) use call::{call, cancel, poll};
pub(crate) use check::check;
pub(crate) use completions::{completions, man};
pub(crate) use component::component;
pub(crate) use dev::dev;
pub(crate) use docs::docs;
pub(crate) use doctor::doctor;
pub(crate) use inspect::inspect;
pub(crate) use instances::instances;
pub(crate) use list::list;
pub(crate) use lock::lock;
pub(crate) use mcp::mcp;
pub(crate) use new::new;
pub(crate) use packages::{add, publish, sign, update, vendor, verify};
pub(crate) use play::play;
pub(crate) use replay::replay;
pub(crate) use resume::resume;
pub(crate) use rpc::rpc;
pub(crate) use script::script;
pub(crate) use search::search;
pub(crate) use serve::serve;
pub(crate) use test::test;
pub(crate) use undo::undo;
pub(crate) use wit::wit;

use toolhost::{Agent, LiveBundle, LoadedBundle, manifest::Declares};

use crate::failure::{Failure, Hint};
use crate::settings::Settings;
use crate::terminal::Verbosity;

/// Returns the agent with this name, or the only one.
fn agent(bundle: &LoadedBundle, name: Option<&str>, settings: &Settings) -> Result<Agent, Failure> {
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
async fn with_all_tools<T>(
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
