//! Changesets: an agent changes its own bundle, whole or not at all, and only if the changed bundle loads.
//!
//! A changeset is a view of the bundle's folder in which files can be read, written and deleted. The bundle
//! does not change before [`Changesets::commit`], which loads the bundle as the changeset leaves it. The new
//! bundle takes effect at the next step of a turn that was opened
//! [with the live bundle](toolhost::TurnStart::with_live_bundle), and never within a step.
//!
//! An open changeset is kept in the state root: its files in `changesets/{id}`, and which file has which
//! content in the database. It outlives the process, and needs no file of its own beside them.
//!
//! What is closed by default:
//!
//! - No agent has the tools. The policy grants them: `agents: {coder: {changesets: true}}`, or a list of paths.
//! - Nothing outside the bundle's folder is reachable. Links are not followed.
//! - `.git`, and what builds look up by name, such as `Cargo.toml` and `package.json`, cannot be written.
//! - A bundle whose folder contains the policy, its secrets or the state root has no changesets.
//! - The tools are native: no component gets them.
//!
//! ```no_run
//! # async fn example(host: toolhost::Host) -> Result<(), Box<dyn std::error::Error>> {
//! use toolhost::{LiveBundle, TurnStart};
//! use toolhost_changesets::Changesets;
//!
//! let live = LiveBundle::new(host.load("bundle").await?);
//! let changesets = Changesets::new(&live, "/var/lib/agent")?; // keep it as long as the bundle
//! changesets.extend()?; // the tools `changeset__…`, for the agents that the policy names
//! let agent = live.current().agent("coder")?;
//! let instance = agent.instance("user-1", host.workdir("/srv/project")?);
//! let turn = instance.open_turn(TurnStart::new("turn-1").with_live_bundle(&live)).await?;
//! # drop(turn);
//! # Ok(())
//! # }
//! ```
//!
//! Spec: requirements-v1 §12.4.

mod changesets;
mod commit;
mod edit;
mod entry;
mod error;
mod files;
mod host_source;
mod limits;
mod outcome;
mod owner;
mod path;
mod records;
mod tools;

pub use changesets::{Changeset, Changesets, Version};
pub use entry::{Entry, EntryKind};
pub use error::ChangesetError;
pub use outcome::{ChangeKind, ChangedFile, CommitOutcome};
pub use owner::ChangesetOwner;
pub use path::PathError;

#[cfg(test)]
mod tests;
