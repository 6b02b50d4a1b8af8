//! Files: those that are private to the host's user, reads beneath a directory, a directory as changes leave it,
//! workdirs of guests with transactions on them, and what differs between systems. It knows no engine and no network.
//!
//! A [`Workdir`] is a directory that guests get as their `/`; [`Workdir::transactional`] keeps what they change apart,
//! and [`Workdir::commit`] makes it. [`CallFiles`] are the files of one call: its verbs check, count and record.

mod accounting;
mod call;
mod diff;
mod error;
pub mod platform;
mod private;
mod read;
pub mod resolve;
mod view;
mod workdir;

pub use accounting::call_memory::{CallMemory, HeldMemory};
pub use call::{
    CHUNK, CallFiles, Descriptor, FileAccess, FileMeter, Listing, OpenFile, OpenRequest, Synced,
    digest_changes,
};
pub use diff::{DIFF_BYTES_MAX, Differences};
pub use error::{EntryKind, ReadError};
pub use private::{
    NotPrivate, PrivateDir, PrivateFile, is_of_this_user, read_key, read_or_make_key,
};
pub use read::{read_beneath, read_named};
pub use resolve::Links;
pub use view::{ChangedFiles, DirView};
pub use workdir::{
    BegunRun, CommitError, CommitOptions, CommitRun, CommitTurn, Durability, FileDifference,
    FileError, FileIo, FileReplacement, FileResult, HeldChanges, HeldError, HeldState, Recovered,
    ReplaceFilesError, ReplacedFiles, Shortage, StagingError, StagingRoot, UndoError, UndoLimits,
    UndoRecord, Undone, Unrecovered, Workdir, WorkdirCommit, WorkdirError, WorkdirHandle,
    WorkdirRules, WorkdirUsages, WriteProtected, errno_of, file_id, has_openat2,
};
