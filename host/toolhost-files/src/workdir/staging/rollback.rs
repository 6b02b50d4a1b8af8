//! Takes the renames of a commit back, and makes them again.

use std::io;

use super::error::LISTED_MAX;
use super::plan::{JournalOp, Plan, Way};
use super::renames::{Fault, Renames};
use super::step::{Step, reach};
use super::tree::changed_since;
use crate::workdir::tree_path::TreePath;

/// A rename that could not be taken back or made again.
#[derive(Debug)]
pub(super) struct Stuck {
    /// Its path in the workdir.
    pub(super) path: String,
    /// Whether another program changed what is there.
    pub(super) is_conflict: bool,
    pub(super) error: io::Error,
}

/// Takes back the renames that were made, by looking where each file is, the last one first. Files that
/// another program put in the place of those of the commit stay. Returns those whose former file is not back:
/// all where another program has changed what the commit made, as that would be removed. At most 1,000 of each.
pub(super) fn take_back(renames: &Renames<'_>, plan: &Plan) -> io::Result<Vec<Stuck>> {
    let changed = changed_since(renames, &plan.left)?;
    if !changed.is_empty() {
        return Ok(changed.into_iter().map(Stuck::changed).collect());
    }
    let mut stuck = Vec::new();
    let mut add = |path: &TreePath, fault: Fault| {
        if stuck.len() < LISTED_MAX {
            stuck.push(Stuck::new(path, fault));
        }
    };
    for op in plan.ops.iter().rev() {
        reach(Step::TakingBack)?;
        let (staged, path, inode) = (&op.staged, &op.path, op.inode);
        let taken = match op.way {
            Way::Put => absent_is_fine(renames.take(path, staged, inode)),
            Way::Take => give_back(renames, staged, path, inode),
            Way::Exchange { replaced } => match renames.exchange(staged, path, replaced, inode) {
                // The new file was removed since. So was the former one, where that is nowhere either.
                Err(Fault::Gone) => give_back(renames, staged, path, replaced),
                done => done,
            },
        };
        if let Err(fault) = taken {
            add(path, fault);
        }
    }
    reach(Step::TakenBack)?;
    Ok(stuck)
}

/// Makes the renames that were taken back again, the first one first.
pub(super) fn make_again(renames: &Renames<'_>, ops: &[JournalOp]) -> io::Result<Vec<Stuck>> {
    let mut stuck = Vec::new();
    for op in ops {
        reach(Step::Redoing)?;
        if let Err(fault) = make(renames, op)
            && stuck.len() < LISTED_MAX
        {
            stuck.push(Stuck::new(&op.path, fault));
        }
    }
    Ok(stuck)
}

/// Makes one rename.
pub(super) fn make(renames: &Renames<'_>, op: &JournalOp) -> Result<(), Fault> {
    let (staged, path, inode) = (&op.staged, &op.path, op.inode);
    match op.way {
        Way::Put => renames.put(staged, path, inode),
        Way::Take => renames.take(path, staged, inode),
        Way::Exchange { replaced } => renames.exchange(staged, path, inode, replaced),
    }
}

/// What a commit put into the workdir may have been removed since.
fn absent_is_fine(taken: Result<(), Fault>) -> Result<(), Fault> {
    match taken {
        Err(Fault::Gone) => Ok(()),
        taken => taken,
    }
}

/// Moves a former file back, where it is in the staging directory.
fn give_back(
    renames: &Renames<'_>,
    staged: &str,
    path: &TreePath,
    inode: u64,
) -> Result<(), Fault> {
    match renames.staged(staged)? {
        None => Ok(()),
        Some(found) if found.id.inode == inode => renames.put(staged, path, inode),
        // A file of another program, which is lost if the staging directory is removed.
        Some(_) => Err(Fault::Astray),
    }
}

impl Stuck {
    fn changed(path: String) -> Self {
        let reason = "another program changed what the commit had put there";
        let error = io::Error::other(reason);
        Self {
            path,
            is_conflict: true,
            error,
        }
    }

    fn new(path: &TreePath, fault: Fault) -> Self {
        let is_conflict = !matches!(fault, Fault::Io(_));
        let error = match fault {
            Fault::Gone => io::Error::new(
                io::ErrorKind::NotFound,
                "its directory was moved or removed by another program",
            ),
            Fault::Taken => io::Error::new(
                io::ErrorKind::AlreadyExists,
                "another program made a file of this name",
            ),
            Fault::Astray => io::Error::other("another program replaced it at the same time"),
            Fault::Io(error) => error,
        };
        Self {
            path: path.to_string(),
            is_conflict,
            error,
        }
    }
}

/// Returns the paths.
pub(super) fn paths(stuck: &[Stuck]) -> Vec<String> {
    let mut paths: Vec<_> = stuck.iter().map(|stuck| stuck.path.clone()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}
