//! The directory that a call gets as its `/`, held by handle.

mod beneath;
mod changes;
mod commit;
mod entry;
mod error;
mod file_system;
mod handle;
mod identity;
mod open_files;
mod overlay;
mod protected;
mod replace;
pub(crate) mod staging;
mod tree;
mod tree_path;
mod usage;

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolhost_contract::{FileId, Protected};

use crate::accounting::call_memory::CallMemory;

pub use beneath::has_openat2;
pub(crate) use beneath::{open_beneath, path_beneath};
pub(crate) use changes::{ChangeGuard, Target};
pub use commit::WorkdirCommit;
pub(crate) use entry::Entry;
pub use error::{FileError, FileResult, errno_of};
use file_system::kernel_file_system;
pub use handle::{FileIo, WorkdirHandle};
pub use identity::file_id;
pub(crate) use identity::id_of;
pub(crate) use overlay::Overlay;
pub(crate) use overlay::{ListingChanges, WorkdirFile};
pub use protected::WriteProtected;
pub use replace::{FileReplacement, ReplaceFilesError, ReplacedFiles};
pub use staging::{
    BegunRun, CommitError, CommitOptions, CommitRun, CommitTurn, Durability, FileDifference,
    HeldChanges, HeldError, HeldState, Recovered, Shortage, StagingError, StagingRoot, UndoError,
    UndoLimits, UndoRecord, Undone, Unrecovered,
};
pub(crate) use tree::{EntryName, Tree, last_name};
pub use usage::WorkdirUsages;
pub(crate) use usage::{FreedSpace, WorkdirUsage};

/// Maximum depth of a workdir.
const DEPTH_MAX: usize = 4096;

/// Why a path cannot be a workdir.
#[derive(Debug, thiserror::Error)]
pub enum WorkdirError {
    /// It cannot be opened.
    #[error("the workdir {} cannot be opened", .path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is a file, or something else than a directory.
    #[error("the workdir {} is not a directory", .path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// It contains what no tool may reach.
    #[error("the workdir {} is refused: it is or contains {what}", .path.display())]
    Contains {
        /// The path.
        path: PathBuf,
        /// What it contains.
        what: &'static str,
    },
    /// It lies within a directory of the host.
    #[error("the workdir {} is refused: it lies within {what}", .path.display())]
    Within {
        /// The path.
        path: PathBuf,
        /// What it lies within.
        what: &'static str,
    },
    /// It lies in a file system whose files are interfaces of the kernel, such as `/proc`.
    #[error("the workdir {} is refused: it lies in {file_system}, a file system of the kernel", .path.display())]
    OfKernel {
        /// The path.
        path: PathBuf,
        /// The file system, such as `proc`.
        file_system: &'static str,
    },
}

impl WorkdirError {
    fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if source.kind() == io::ErrorKind::NotADirectory {
            Self::NotADirectory { path }
        } else {
            Self::Open { path, source }
        }
    }
}

/// Files and directories of the host that no workdir may contain or lie within.
///
/// ```
/// use toolhost_files::WorkdirRules;
/// let mut rules = WorkdirRules::default();
/// rules.keep_out_of("the policy file", "/etc/toolhost/policy.yaml".as_ref());
/// ```
#[derive(Debug, Clone, Default)]
pub struct WorkdirRules {
    not_contained: Vec<(&'static str, FileId)>,
    not_around: Vec<(&'static str, FileId)>,
}

impl WorkdirRules {
    /// Refuses workdirs that are or contain `path`, or a symlink on it. A path that does not exist is
    /// ignored. `what` names it in error messages.
    pub fn keep_out_of(&mut self, what: &'static str, path: &Path) {
        self.add(what, path);
    }

    /// Refuses workdirs that are, contain or lie within the directory `path`, or contain a symlink on
    /// it. `what` names it in error messages.
    pub fn keep_private(&mut self, what: &'static str, path: &Path) {
        let found = self.add(what, path);
        self.not_around.extend(found.map(|id| (what, id)));
    }

    fn add(&mut self, what: &'static str, path: &Path) -> Option<FileId> {
        let mut chain = Protected::default();
        let found = chain.add_path_chain(path);
        self.not_contained.extend(chain.ids().map(|id| (what, id)));
        found.ok()
    }

    /// The files and directories, for [`WriteProtected`]: a workdir may contain a hard link to one.
    pub fn protected(&self) -> impl Iterator<Item = FileId> {
        self.not_contained.iter().map(|(_, id)| *id)
    }

    /// Checks a directory, given with the directories above it.
    fn check(&self, path: &Path, chain: &[FileId]) -> Result<(), WorkdirError> {
        let path = path.to_owned();
        if chain.len() == 1 {
            let what = "the whole file system";
            return Err(WorkdirError::Contains { path, what });
        }
        let mut rules = self.not_contained.iter();
        if let Some((what, _)) = rules.find(|(_, id)| chain.first() == Some(id)) {
            return Err(WorkdirError::Contains { path, what });
        }
        let mut rules = self.not_around.iter();
        if let Some((what, _)) = rules.find(|(_, id)| chain.contains(id)) {
            return Err(WorkdirError::Within { path, what });
        }
        Ok(())
    }
}

/// Returns the identities of a directory and of those above it, found by opening `..`.
fn ancestors(dir: &Dir) -> io::Result<Vec<FileId>> {
    let mut chain = vec![id_of(dir)?];
    let mut here = dir.try_clone()?;
    while chain.len() < DEPTH_MAX {
        let above = here.open_parent_dir(ambient_authority())?;
        let id = id_of(&above)?;
        if chain.last() == Some(&id) {
            return Ok(chain);
        }
        chain.push(id);
        here = above;
    }
    Err(io::Error::other("too many directories above the workdir"))
}

/// A directory opened to be a guest's `/`. Cheap to clone; many calls may share it.
///
/// The path is resolved once, symlinks included. Renaming, removing or replacing what it names does
/// not affect the calls that hold the handle.
#[derive(Debug, Clone)]
pub struct Workdir {
    handle: WorkdirHandle,
    tree: Tree,
}

impl Workdir {
    /// Opens a directory that the rules allow. They never allow `/`.
    ///
    /// # Errors
    /// [`WorkdirError`] if it cannot be opened, or the rules refuse it.
    pub fn open(
        path: &Path,
        rules: &WorkdirRules,
        usages: &WorkdirUsages,
    ) -> Result<Self, WorkdirError> {
        let dir = open_dir(path)?;
        let chain = ancestors(&dir).map_err(|source| WorkdirError::new(path, source))?;
        rules.check(path, &chain)?;
        Self::from_dir(path, dir, usages)
    }

    /// Opens a directory that the host created for guests, such as an instance's workspace.
    pub fn open_own(path: &Path, usages: &WorkdirUsages) -> Result<Self, WorkdirError> {
        Self::from_dir(path, open_dir(path)?, usages)
    }

    fn from_dir(path: &Path, dir: Dir, usages: &WorkdirUsages) -> Result<Self, WorkdirError> {
        let usage = usages.of(&dir);
        let usage = usage.map_err(|source| WorkdirError::new(path, source))?;
        Ok(Self {
            handle: WorkdirHandle {
                usage,
                dir: Arc::new(dir),
                file_io: FileIo::default(),
                mount: Arc::default(),
            },
            tree: Tree::Direct,
        })
    }

    /// Returns a handle whose calls change nothing in the directory: what they change is kept apart as one
    /// transaction, which only they see. It is dropped with the last such handle, unless it was
    /// [committed](Self::commit).
    ///
    /// # Errors
    /// [`StagingError`] where the changes could not be committed by renaming files. The staging directory is
    /// made by the first change.
    pub fn transactional(&self, staging: &StagingRoot) -> Result<Self, StagingError> {
        staging.check_mount(self)?;
        let overlay = Overlay::new(&self.handle, staging);
        let overlay = Arc::new(overlay.map_err(|source| StagingError::Io {
            path: staging.path().to_owned(),
            source,
        })?);
        Ok(Self {
            handle: WorkdirHandle {
                usage: overlay.usage().clone(),
                ..self.handle.clone()
            },
            tree: Tree::Transaction(overlay),
        })
    }

    /// Returns a handle of the same transaction whose own changes [can be told apart](Self::has_staged). They are
    /// changes of this handle, too.
    #[must_use]
    pub fn part(&self) -> Self {
        let tree = match &self.tree {
            Tree::Direct => Tree::Direct,
            Tree::Transaction(overlay) => Tree::Transaction(Arc::new(overlay.part())),
        };
        let handle = self.handle.clone();
        Self { handle, tree }
    }

    /// The files of the workdir for a call with this deadline. What a transaction holds from now on counts as
    /// memory of the call.
    pub(crate) fn tree(&self, ends: Option<Instant>, memory: &Arc<CallMemory>) -> Tree {
        match &self.tree {
            Tree::Direct => Tree::Direct,
            Tree::Transaction(overlay) => {
                let overlay = overlay.until(ends);
                overlay.charge_to(Arc::clone(memory));
                Tree::Transaction(Arc::new(overlay))
            }
        }
    }

    /// The transaction of the handle, if it is of one.
    fn overlay(&self) -> Option<&Overlay> {
        match &self.tree {
            Tree::Direct => None,
            Tree::Transaction(overlay) => Some(overlay),
        }
    }

    /// Sets where file operations run. Default: [`FileIo::Inline`].
    #[must_use]
    pub fn with_file_io(mut self, file_io: FileIo) -> Self {
        self.handle.file_io = file_io;
        self
    }
}

impl Deref for Workdir {
    type Target = WorkdirHandle;

    fn deref(&self) -> &WorkdirHandle {
        &self.handle
    }
}

/// For tools of the host: open beneath it with cap-std or `openat2`, never by a path that a model
/// gave.
impl AsFd for Workdir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

fn open_dir(path: &Path) -> Result<Dir, WorkdirError> {
    let opened = Dir::open_ambient_dir(path, ambient_authority());
    let dir = opened.map_err(|source| WorkdirError::new(path, source))?;
    let found = kernel_file_system(&dir).map_err(|errno| WorkdirError::new(path, errno.into()))?;
    let Some(file_system) = found else {
        return Ok(dir);
    };
    let path = path.to_owned();
    Err(WorkdirError::OfKernel { path, file_system })
}

#[cfg(test)]
mod tests;
