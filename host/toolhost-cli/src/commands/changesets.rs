//! The tools with which an agent changes its own bundle, where the policy grants them.

use tokio::task::JoinSet;
use toolhost::{Agent, LiveBundle};
use toolhost_changesets::Changesets;

use crate::failure::{Failure, Hint};
use crate::settings::Settings;

/// Adds the tools to the agents that the policy grants changesets. They work as long as what is returned is
/// held: none if the policy grants no agent any.
pub(super) fn start(live: &LiveBundle, settings: &Settings) -> Result<Option<Changesets>, Failure> {
    let bundle = live.current();
    let mut agents = bundle.agents().iter();
    if agents.all(|agent: &Agent| agent.changeset_grant().is_none()) {
        return Ok(None);
    }
    let Some(root) = &settings.dirs.state_root else {
        let error =
            anyhow::anyhow!("the policy grants changesets, and there is no place to keep them");
        return Err(Failure::from(error).hint("Pass --state-root DIR, or set HOME."));
    };
    let hint = "Pass --state-root DIR, with a directory that only you can write.";
    let changesets = Changesets::new(live, root);
    let changesets = changesets.hint(hint)?;
    changesets.extend()?;
    Ok(Some(changesets))
}

/// Adds the tools, and, in a task, follows the bundles that replace this one: agents may be new, or the
/// policy another one.
pub(super) fn follow(
    live: &LiveBundle,
    settings: &Settings,
    tasks: &mut JoinSet<()>,
) -> Result<(), Failure> {
    let mut changes = live.changes();
    let (live, settings) = (live.clone(), settings.clone());
    let mut changesets = start(&live, &settings)?;
    tasks.spawn(async move {
        loop {
            let _current = changes.changed().await;
            let followed = match &changesets {
                Some(changesets) => changesets.extend().map(drop).map_err(Failure::from),
                None => start(&live, &settings).map(|started| changesets = started),
            };
            if let Err(error) = followed {
                settings.note(&error.message());
            }
        }
    });
    Ok(())
}
