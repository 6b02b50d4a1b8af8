//! The one directory a call is given, held by handle.

mod growth;
mod identity;
mod protected;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

pub(crate) use growth::{Growth, Growths};
pub(crate) use identity::file_id;
pub use protected::WriteProtected;
pub(crate) use toolhost_contract::{FileId, Protected};

/// Most folders above a directory that are looked at.
const DEPTH_MAX: usize = 4096;

/// The directory, for the host's own tools: open beneath it with cap-std or `openat2`, never by a path
/// that a model gave.
impl std::os::fd::AsFd for Workdir {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// Why a path cannot be a workdir.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkdirError {
    /// It cannot be opened.
    #[error("the workdir {} cannot be opened", .path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
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
    /// It lies within the host's own places.
    #[error("the workdir {} is refused: it lies within {what}", .path.display())]
    Within {
        /// The path.
        path: PathBuf,
        /// What it lies within.
        what: &'static str,
    },
}

/// The host's own places, which no workdir may contain or lie within.
///
/// ```
/// use toolhost_sandbox::WorkdirRules;
/// let mut rules = WorkdirRules::default();
/// rules.keep_out_of("the policy file", "/etc/toolhost/policy.yaml".as_ref());
/// ```
#[derive(Debug, Clone, Default)]
pub struct WorkdirRules {
    outside: Vec<(&'static str, FileId)>,
    private: Vec<(&'static str, FileId)>,
}

impl WorkdirRules {
    /// No workdir may be or contain `place`, or a link that leads there. A place that does not exist
    /// is passed over.
    pub fn keep_out_of(&mut self, what: &'static str, place: &Path) {
        self.keep(what, place);
    }

    /// No workdir may be, contain or lie within the directory `place`, or contain a link that leads
    /// there.
    pub fn keep_private(&mut self, what: &'static str, place: &Path) {
        let found = self.keep(what, place);
        self.private.extend(found.map(|id| (what, id)));
    }

    fn keep(&mut self, what: &'static str, place: &Path) -> Option<FileId> {
        let mut way = Protected::default();
        let found = way.follow(place);
        self.outside.extend(way.ids().map(|id| (what, id)));
        found.ok()
    }

    /// The places themselves, for [`WriteProtected`]: a workdir may hold another name of a file.
    pub fn protected(&self) -> impl Iterator<Item = FileId> {
        self.outside.iter().map(|(_, id)| *id)
    }
}

/// The identity of a directory and of those above it, found by `..` on handles.
fn ancestors(dir: &Dir) -> std::io::Result<Vec<FileId>> {
    let mut chain = vec![file_id(&dir.dir_metadata()?)];
    let mut here = dir.try_clone()?;
    while chain.len() < DEPTH_MAX {
        let above = here.open_parent_dir(ambient_authority())?;
        let id = file_id(&above.dir_metadata()?);
        if chain.last() == Some(&id) {
            return Ok(chain);
        }
        chain.push(id);
        here = above;
    }
    Err(std::io::Error::other(
        "too many directories above the workdir",
    ))
}

/// Where the file calls of a guest are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileIo {
    /// Where the call runs: fast, and right for local disks, where no file call waits long.
    #[default]
    Inline,
    /// On a thread of the call's own: for network file systems, which may hang. The caller is
    /// answered at the deadline all the same, and its place is free: see
    /// [`Sandbox::hanging_calls`](crate::Sandbox::hanging_calls).
    Offload,
}

/// A directory opened to be a guest's `/`. Cheap to clone; many calls may share it.
///
/// The path is followed once, symlinks included; from then on only the handle counts. Renaming,
/// deleting or replacing what the path names changes nothing for the calls that hold it.
#[derive(Debug, Clone)]
pub struct Workdir {
    pub(crate) dir: Arc<Dir>,
    pub(crate) growth: Growth,
    pub(crate) file_io: FileIo,
}

impl Workdir {
    /// Opens a directory under the rules. `/` is always refused.
    ///
    /// # Errors
    /// [`WorkdirError`] where it cannot be opened, or the rules refuse it.
    pub(crate) fn open(
        path: &Path,
        rules: &WorkdirRules,
        growths: &Growths,
    ) -> Result<Self, WorkdirError> {
        let (dir, chain) = open_chain(path)?;
        let own = chain.first().copied();
        if chain.len() == 1 {
            return Err(WorkdirError::Contains {
                path: path.to_owned(),
                what: "the whole file system",
            });
        }
        if let Some((what, _)) = rules.outside.iter().find(|(_, id)| Some(*id) == own) {
            return Err(WorkdirError::Contains {
                path: path.to_owned(),
                what,
            });
        }
        if let Some((what, _)) = rules.private.iter().find(|(_, id)| chain.contains(id)) {
            return Err(WorkdirError::Within {
                path: path.to_owned(),
                what,
            });
        }
        Ok(Self::from_dir(dir, growths))
    }

    /// Opens a directory that the host itself made for guests, such as an instance's workspace.
    pub(crate) fn open_own(path: &Path, growths: &Growths) -> Result<Self, WorkdirError> {
        let (dir, _) = open_chain(path)?;
        Ok(Self::from_dir(dir, growths))
    }

    fn from_dir(dir: Dir, growths: &Growths) -> Self {
        Self {
            growth: growths.of(&dir),
            dir: Arc::new(dir),
            file_io: FileIo::default(),
        }
    }

    /// Says where file calls are made. Default: [`FileIo::Inline`].
    #[must_use]
    pub fn with_file_io(self, file_io: FileIo) -> Self {
        Self { file_io, ..self }
    }
}

fn open_chain(path: &Path) -> Result<(Dir, Vec<FileId>), WorkdirError> {
    let failed = |source: std::io::Error| {
        let path = path.to_owned();
        if source.kind() == std::io::ErrorKind::NotADirectory {
            return WorkdirError::NotADirectory { path };
        }
        WorkdirError::Open { path, source }
    };
    let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(failed)?;
    let chain = ancestors(&dir).map_err(failed)?;
    Ok((dir, chain))
}

#[cfg(test)]
mod tests;
