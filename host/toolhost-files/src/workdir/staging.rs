//! Where the changes of a transaction lie until they are committed, and where what they replaced lies until it
//! is dropped: a private directory on the file system of the workdir.
//!
//! A commit is a list of renames between this directory, whose names are flat, and paths of the workdir. The
//! list is written to a journal before the first of them. Rollback and undo are the same list backwards.

mod change_set;
mod clock;
mod commit;
mod contents;
mod difference;
mod error;
mod held;
mod held_list;
mod journal;
mod namespace;
mod plan;
mod plan_text;
mod records;
mod recovery;
mod renames;
mod rollback;
mod root;
mod runs;
mod stamp;
mod step;
mod transaction;
mod tree;
mod turns;
mod undo;

pub(crate) use change_set::{ChangeSet, RenameOp};
pub(crate) use clock::CommitClock;
#[cfg_attr(not(test), expect(unused_imports, reason = "tests use it"))]
pub(crate) use commit::Committed;
pub use commit::{CommitOptions, Durability};
pub use difference::FileDifference;
pub(crate) use difference::text_of;
pub use error::{CommitError, Shortage, StagingError, UndoError};
pub use held::{HeldChanges, HeldError, HeldState};
pub use records::{UndoLimits, UndoRecord};
pub use recovery::{Recovered, Unrecovered};
pub use root::StagingRoot;
pub use runs::{BegunRun, CommitRun};
pub(crate) use stamp::{FileKind, Stamp, of_stat};
pub(super) use step::{Step, reach};
pub(crate) use transaction::Staging;
pub use turns::CommitTurn;
pub use undo::Undone;

#[cfg(test)]
mod tests;
