//! The steps of a commit, a rollback, a recovery and an undo, by name: tests stop the process at each of them,
//! or make it fail.

use std::io;

/// What was just done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::workdir) enum Step {
    /// A file that is to be replaced is about to be read.
    Hashing,
    /// The staging directory of a transaction is about to be made.
    Making,
    /// The lock of the workdir was taken.
    Locked,
    /// Stamps, free names and write protection were checked.
    Checked,
    /// The run of a call whose commit begins was noted.
    RunNoted,
    /// The journal was written under another name.
    JournalWritten,
    /// The journal got its name.
    JournalNamed,
    /// The next rename is about to be made.
    Renaming,
    /// A rename was made.
    Renamed,
    /// The end mark was written.
    EndMarked,
    /// A rename is about to be taken back.
    TakingBack,
    /// All renames were taken back.
    TakenBack,
    /// The mark of an undo was written.
    UndoMarked,
    /// A rename that was taken back is about to be made again.
    Redoing,
    /// The journal of a staging directory was removed, and the directory is about to be.
    JournalRemoved,
    /// A staging directory was removed.
    Removed,
}

/// Notes that a step was reached. Fails only in tests.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "tests make steps fail")]
pub(in crate::workdir) fn reach(_: Step) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(super) use hook::on_step;
#[cfg(test)]
pub(in crate::workdir) use hook::reach;

#[cfg(test)]
mod hook {
    use std::cell::RefCell;

    use super::{Step, io};

    type Hook = Box<dyn FnMut(Step) -> io::Result<()>>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = RefCell::default();
    }

    /// Calls `hook` at each step of this thread, until this is called again.
    pub(in super::super) fn on_step(hook: Option<Hook>) {
        HOOK.set(hook);
    }

    pub(in crate::workdir) fn reach(step: Step) -> io::Result<()> {
        // Taken out meanwhile, so that a hook may itself commit.
        let Some(mut hook) = HOOK.take() else {
            return Ok(());
        };
        let reached = hook(step);
        HOOK.set(Some(hook));
        reached
    }
}
