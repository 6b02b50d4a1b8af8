//! Changes of a transaction that wait for somebody's consent: their list lies in the staging directory, beside what
//! was staged.
//!
//! The list is a private file. Its digest is over the list and over all that was staged, so that what is committed
//! later is what was shown. Recovery leaves such a directory alone: whoever holds it drops it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolhost_contract::{FileChanges, FileId};

use super::change_set::{ChangeSet, RenameOp};
use super::clock::CommitClock;
use super::commit::{CommitOptions, Committed};
use super::contents::{names, open_dir};
use super::error::CommitError;
use super::journal::{self, BYTES_MAX, Progress};
use super::namespace::check;
use super::plan::{WorkdirPlace, is_path, is_staged_name};
use super::records::remove;
use super::recovery::take_back_unfinished;
use super::renames::Renames;
use super::root::{LOCK_WAIT, LockError, StagingRoot};
use super::stamp::{FileKind, Stamp};
use super::transaction::Staging;
use crate::platform::{device, mode};
use crate::workdir::WorkdirHandle;
use crate::workdir::tree_path::TreePath;
use crate::{PrivateDir, PrivateFile};

/// Name of the list, which no staged file has.
const NAME: &str = "held";

/// The version that is written.
const VERSION: u32 = 1;

/// Changes that wait. Dropping it drops them, unless they are [kept](Self::keep); until then, no other process does.
#[derive(Debug)]
pub struct HeldChanges {
    staging: Staging,
    /// SHA-256 of all that a commit would do, in hexadecimal.
    pub digest: String,
    /// The files, as a receipt lists them.
    pub changes: FileChanges,
    /// How the lines of each file differ, in the order of `changes`; none where they cannot be shown.
    pub diffs: Vec<Option<String>>,
    /// Bytes of the staged files.
    pub bytes: u64,
}

impl HeldChanges {
    /// The id that [`StagingRoot::commit_held`] takes.
    pub fn id(&self) -> &str {
        self.staging.id()
    }

    /// Leaves the changes in the state root, until they are committed or dropped by their id.
    pub fn keep(mut self) {
        self.staging.leave();
    }
}

/// What has become of changes that were held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldState {
    /// They wait.
    Waiting,
    /// They were committed.
    Committed,
    /// They were dropped; or committed, and their undo record was dropped since.
    Gone,
}

/// Why changes that were held are not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeldError {
    /// They are not there, or not what was shown.
    #[error("the changes that were shown are not there any more")]
    Changed,
    /// They cannot be committed. They are dropped after a conflict, and wait on after other errors.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// The list.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HeldText {
    version: u32,
    workdir: WorkdirPlace,
    ops: Vec<OpText>,
    read: Vec<SeenText>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum OpText {
    Put {
        staged: String,
        path: String,
    },
    Take {
        path: String,
        staged: String,
        expected: StampText,
    },
    Exchange {
        staged: String,
        path: String,
        expected: StampText,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenText {
    path: String,
    stamp: StampText,
}

/// A stamp. Devices get other numbers when a machine starts again: that of the workdir is left out.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StampText {
    inode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<u64>,
    kind: FileKind,
    size: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

impl StampText {
    fn of(stamp: &Stamp, workdir: u64) -> Self {
        let FileId { device, inode } = stamp.id;
        Self {
            inode,
            device: (device != workdir).then_some(device),
            kind: stamp.kind,
            size: stamp.size,
            mtime: stamp.mtime,
            ctime: stamp.ctime,
        }
    }

    fn read(&self, workdir: u64) -> Stamp {
        Stamp {
            id: FileId {
                device: self.device.unwrap_or(workdir),
                inode: self.inode,
            },
            kind: self.kind,
            size: self.size,
            mtime: self.mtime,
            ctime: self.ctime,
        }
    }
}

impl HeldText {
    fn of(set: &ChangeSet, workdir: WorkdirPlace, device: u64) -> Self {
        let op = |op: &RenameOp| match op {
            RenameOp::Put { staged, path } => OpText::Put {
                staged: staged.clone(),
                path: path.to_string(),
            },
            RenameOp::Take {
                path,
                staged,
                expected,
            } => OpText::Take {
                path: path.to_string(),
                staged: staged.clone(),
                expected: StampText::of(expected, device),
            },
            RenameOp::Exchange {
                staged,
                path,
                expected,
            } => OpText::Exchange {
                staged: staged.clone(),
                path: path.to_string(),
                expected: StampText::of(expected, device),
            },
        };
        let seen = |(path, stamp): &(TreePath, Stamp)| SeenText {
            path: path.to_string(),
            stamp: StampText::of(stamp, device),
        };
        Self {
            version: VERSION,
            workdir,
            ops: set.ops.iter().map(op).collect(),
            read: set.read.iter().map(seen).collect(),
        }
    }

    /// Returns the change set. None if a name in it could not have been written by this program.
    fn change_set(&self, device: u64) -> Option<ChangeSet> {
        let tree_path = |path: &str| is_path(path).then(|| TreePath::from(path));
        let name = |staged: &str| is_staged_name(staged).then(|| staged.to_owned());
        let op = |op: &OpText| {
            Some(match op {
                OpText::Put { staged, path } => RenameOp::Put {
                    staged: name(staged)?,
                    path: tree_path(path)?,
                },
                OpText::Take {
                    path,
                    staged,
                    expected,
                } => RenameOp::Take {
                    path: tree_path(path)?,
                    staged: name(staged)?,
                    expected: expected.read(device),
                },
                OpText::Exchange {
                    staged,
                    path,
                    expected,
                } => RenameOp::Exchange {
                    staged: name(staged)?,
                    path: tree_path(path)?,
                    expected: expected.read(device),
                },
            })
        };
        let seen = |seen: &SeenText| Some((tree_path(&seen.path)?, seen.stamp.read(device)));
        Some(ChangeSet {
            ops: self.ops.iter().map(op).collect::<Option<_>>()?,
            read: self.read.iter().map(seen).collect::<Option<_>>()?,
        })
    }
}

impl Staging {
    /// Checks the changes as a commit does, and writes their list. They wait until they are committed by their id.
    ///
    /// # Errors
    /// [`CommitError`], as for a commit. The changes are dropped.
    pub(crate) fn hold(
        self,
        workdir: &WorkdirHandle,
        set: &ChangeSet,
        (changes, diffs): (FileChanges, Vec<Option<String>>),
        options: &CommitOptions,
        clock: &CommitClock,
    ) -> Result<HeldChanges, CommitError> {
        let failed = |error: io::Error| CommitError::failed("writing the list of changes", error);
        let renames = Renames {
            workdir: &workdir.dir,
            staging: self.dir(),
        };
        check(&renames, set, &options.protected, Some(clock))?;
        let place = WorkdirPlace::of(workdir).map_err(failed)?;
        let text = HeldText::of(set, place, device_of(&workdir.dir).map_err(failed)?);
        let text = serde_json::to_vec(&text).map_err(|error| failed(error.into()))?;
        if text.len() as u64 > BYTES_MAX {
            let bytes_max = BYTES_MAX;
            return Err(CommitError::TooLarge { bytes_max });
        }
        write(self.dir(), &text).map_err(failed)?;
        let (digest, bytes) = digest_of(self.dir(), &text, set).map_err(failed)?;
        Ok(HeldChanges {
            staging: self,
            digest,
            changes,
            diffs,
            bytes,
        })
    }
}

impl StagingRoot {
    /// Returns what has become of held changes.
    pub fn held(&self, id: &str) -> HeldState {
        match self.progress(id) {
            Some(Progress::Committed(_)) => HeldState::Committed,
            // A commit that a process left unfinished is taken back before the next one.
            Some(Progress::NotBegun | Progress::Unfinished) if self.is_held(id) => {
                HeldState::Waiting
            }
            Some(Progress::NotBegun | Progress::Unfinished) | None => HeldState::Gone,
        }
    }

    fn is_held(&self, id: &str) -> bool {
        self.open_id(id).is_ok_and(|dir| is_held(&dir))
    }

    /// Returns the ids of all held changes that no process works on.
    ///
    /// # Errors
    /// Where the staging root cannot be read.
    pub fn held_ids(&self) -> io::Result<Vec<String>> {
        let mut held = self.ids(None)?;
        held.retain(|id| self.is_held(id));
        Ok(held)
    }

    /// Drops held changes. Does nothing if they are gone, or a process works on them.
    pub fn drop_held(&self, id: &str) {
        let Ok(Some(dir)) = self.open_locked(id) else {
            return;
        };
        if is_held(&dir) && matches!(journal::progress(&dir), Ok(Progress::NotBegun)) {
            remove(self, id, &dir);
        } else {
            self.unlock(&dir);
        }
    }

    /// Commits held changes, if they are those of the digest.
    ///
    /// # Errors
    /// [`HeldError`].
    pub fn commit_held(
        &self,
        workdir: &WorkdirHandle,
        id: &str,
        digest: &str,
        options: &CommitOptions,
    ) -> Result<Option<String>, HeldError> {
        let failed = |error: io::Error| CommitError::failed("reading the list of changes", error);
        let opened = self.open_locked(id).map_err(|errno| failed(errno.into()))?;
        let Some(dir) = opened.filter(is_held) else {
            return Err(HeldError::Changed);
        };
        let mut staging = Staging::of(self, id.to_owned(), dir);
        // Until it is known what it is, nothing is removed.
        staging.leave();
        PrivateDir::check(staging.dir(), staging.path()).map_err(failed)?;
        let place = WorkdirPlace::of(workdir).map_err(failed)?;
        {
            let locked = self.lock_workdir(place.inode);
            let _lock = locked.map_err(|error| match error {
                LockError::Busy => CommitError::Busy {
                    seconds: LOCK_WAIT.as_secs(),
                },
                LockError::Io(error) => failed(error),
            })?;
            let taken_back = take_back_unfinished(staging.dir(), &workdir.dir);
            taken_back.map_err(|reason| failed(io::Error::other(reason)))?;
        }
        let set = read(staging.dir(), workdir, &place, digest).map_err(failed)?;
        let set = set.ok_or(HeldError::Changed)?;
        let clock = CommitClock::start(options.time);
        match staging.try_commit(workdir, &set, options, clock) {
            Ok(Committed { undo }) => Ok(undo),
            Err(error) => {
                if matches!(error, CommitError::Conflict { .. }) {
                    staging.drop_with_contents();
                }
                Err(error.into())
            }
        }
    }
}

/// Whether the list of held changes lies in a staging directory.
pub(super) fn is_held(dir: &Dir) -> bool {
    statat(dir, NAME, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Removes the list: what is left is an undo record, or belongs to nobody.
pub(super) fn forget(dir: &Dir) -> io::Result<()> {
    match unlinkat(dir, NAME, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn write(dir: &Dir, text: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(dir, NAME, flags, Mode::RUSR | Mode::WUSR)?;
    io::Write::write_all(&mut File::from(file), text)
}

/// Reads the list. None if it is another one than that of the digest, or for another workdir.
fn read(
    dir: &Dir,
    workdir: &WorkdirHandle,
    place: &WorkdirPlace,
    digest: &str,
) -> io::Result<Option<ChangeSet>> {
    let mut text = Vec::new();
    let file = PrivateFile::open_in(dir, NAME, Path::new(NAME), OFlags::RDONLY)?.into_file();
    file.take(BYTES_MAX).read_to_end(&mut text)?;
    let Ok(held) = serde_json::from_slice::<HeldText>(&text) else {
        return Ok(None);
    };
    let is_it = held.version == VERSION && held.workdir.is_same(place);
    let Some(set) = held.change_set(device_of(&workdir.dir)?).filter(|_| is_it) else {
        return Ok(None);
    };
    let same = match digest_of(dir, &text, &set) {
        Ok((now, _)) => now == digest,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    Ok(same.then_some(set))
}

fn device_of(dir: &Dir) -> io::Result<u64> {
    Ok(device(&rustix::fs::fstat(dir)?))
}

/// Returns the SHA-256 of a list and of all that was staged for it, and the bytes of the staged files.
fn digest_of(dir: &Dir, text: &[u8], set: &ChangeSet) -> io::Result<(String, u64)> {
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    add(&mut hasher, text);
    let mut taken = HashSet::new();
    for op in &set.ops {
        match op {
            RenameOp::Take { staged, .. } => {
                taken.insert(staged.as_str());
            }
            // What the commit itself moves is named by the list.
            RenameOp::Put { staged, .. } | RenameOp::Exchange { staged, .. }
                if taken.contains(staged.as_str()) => {}
            RenameOp::Put { staged, .. } | RenameOp::Exchange { staged, .. } => {
                add_staged(&mut hasher, dir, staged, &mut bytes)?;
            }
        }
    }
    let mut digest = String::with_capacity(64);
    for byte in hasher.finalize() {
        // A string takes all that is written.
        let _ = write!(digest, "{byte:02x}");
    }
    Ok((digest, bytes))
}

/// Adds bytes after their length, so that no two lists of texts are alike.
fn add(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// Adds a file, directory or link: its name, what it is, its mode and what it holds. Sums the bytes of files.
fn add_staged(hasher: &mut Sha256, dir: &Dir, name: &str, bytes: &mut u64) -> io::Result<()> {
    let top = std::ffi::CString::new(name)?;
    // Each directory with the names in it that were not read yet.
    let mut levels = vec![(None, vec![top])];
    while let Some((here, rest)) = levels.last_mut() {
        let Some(name) = rest.pop() else {
            add(hasher, b"..");
            levels.pop();
            continue;
        };
        let here: &Dir = here.as_ref().unwrap_or(dir);
        let stat = statat(here, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        add(hasher, name.as_bytes());
        hasher.update(mode(&stat).to_le_bytes());
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => add(hasher, readlinkat(here, &name, Vec::new())?.as_bytes()),
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = File::from(openat(here, &name, flags, Mode::empty())?);
                let size = file.metadata()?.len();
                hasher.update(size.to_le_bytes());
                let mut buffer = [0; 16 << 10];
                loop {
                    let read = file.read(&mut buffer)?;
                    match buffer.get(..read) {
                        None | Some([]) => break,
                        Some(part) => hasher.update(part),
                    }
                    *bytes += read as u64;
                }
            }
            FileType::Directory => {
                let next = open_dir(here, &name)?;
                let mut inside: Vec<_> = names(&next)?.into_iter().map(|(name, _)| name).collect();
                inside.sort_unstable_by(|one, other| other.cmp(one));
                levels.push((Some(next), inside));
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
    Ok(())
}
