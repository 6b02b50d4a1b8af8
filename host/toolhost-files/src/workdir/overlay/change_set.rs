//! What a transaction changes: as renames for its commit, and as a list for receipts.

use std::collections::{BinaryHeap, HashMap};
use std::io::Read;
use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use toolhost_contract::{FileChange, FileChangeKind, FileChanges, FileDigest};

use super::state::{Entry, ReadPath, Shown, State, join};
use super::view::Overlay;
use crate::accounting::file_changes::{DIGESTED_MAX, FILES_MAX, PATH_BYTES_MAX};
use crate::diff::Differences;
use crate::platform::KEEP_ACCESS_TIME;
use crate::workdir::error::errno_of;
use crate::workdir::staging::{
    ChangeSet, CommitClock, CommitError, FileDifference, FileKind, RenameOp, Stamp, text_of,
};
use crate::workdir::tree_path::TreePath;

/// A changed name, with its paths in the lower layer and in the merged view.
struct ChangedName<'a> {
    /// What the lower layer has there.
    hides: Option<(TreePath, Stamp)>,
    shows: Option<(TreePath, &'a Shown)>,
}

impl ChangedName<'_> {
    /// Whether a staged file or link takes the place of another one, which goes nowhere else.
    fn is_exchange(&self, state: &State) -> bool {
        let (Some((lower, stamp)), Some((merged, shown))) = (&self.hides, &self.shows) else {
            return false;
        };
        let is_staged = matches!(shown, Shown::Staged { .. });
        let no_dir = stamp.kind != FileKind::Dir && shown.kind() != FileKind::Dir;
        is_staged && no_dir && lower == merged && !state.moved.contains(lower)
    }
}

/// The changed names of all directories.
fn changed_names(state: &State) -> impl Iterator<Item = ChangedName<'_>> {
    state.dirs.iter().flat_map(|(id, node)| {
        let lower = state.lower_path(*id).cloned().unwrap_or_default();
        let merged: Option<Arc<str>> = if node.entries.is_empty() {
            None
        } else {
            state.merged_path(*id).map(|path| {
                if *path == *lower {
                    Arc::clone(&lower)
                } else {
                    path.into()
                }
            })
        };
        node.entries.iter().map(move |(name, entry): (_, &Entry)| {
            let at = |above: &Arc<str>| TreePath::new(Arc::clone(above), Arc::clone(name));
            let hides = entry.hides.map(|stamp| (at(&lower), stamp));
            let shows = entry.shows.as_ref();
            let shows = merged.as_ref().zip(shows);
            let shows = shows.map(|(merged, shown)| (at(merged), shown));
            ChangedName { hides, shows }
        })
    })
}

fn failed(errno: Errno) -> CommitError {
    CommitError::failed("reading the changes", errno)
}

impl Overlay {
    /// Returns the path in the lower layer of a file that was opened, and its first stamp.
    fn read_path(&self, (path, stamp): &(ReadPath, Stamp)) -> (TreePath, Stamp) {
        let path = match path {
            ReadPath::Real(path) => path.clone(),
            // It may lead through symlinks. If it leads to another file by now, that is a conflict.
            ReadPath::Opened(path) => {
                let given = path.to_string();
                let real = self.resolved(&given, stamp.id).ok();
                match real.filter(|real| *real != given) {
                    Some(real) => real.as_str().into(),
                    None => path.clone(),
                }
            }
        };
        (path, *stamp)
    }

    /// Returns the renames that a commit applies, and the files that were opened. What is taken out of the
    /// workdir comes first, the deepest at first; then what is put there, folders before what lies in them.
    ///
    /// # Errors
    /// [`CommitError::Late`], [`CommitError::Failed`].
    pub(crate) fn change_set(&self, clock: &CommitClock) -> Result<ChangeSet, CommitError> {
        let state = self.lock().map_err(failed)?;
        let Some(staging) = &state.staging else {
            return Ok(ChangeSet::default());
        };
        let mut read = Vec::with_capacity(state.opened.len());
        for opened in state.opened.values() {
            clock.check()?;
            read.push(self.read_path(opened));
        }
        read.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let (mut takes, mut puts) = (Vec::new(), Vec::new());
        for changed in changed_names(&state) {
            clock.check()?;
            let is_exchange = changed.is_exchange(&state);
            let mut replaces = None;
            if let Some(hides) = changed.hides {
                if is_exchange {
                    replaces = Some(hides.1)
                } else {
                    takes.push(hides)
                }
            }
            puts.extend(changed.shows.map(|(path, shown)| (path, shown, replaces)));
        }
        takes.sort_unstable_by(|(one, _), (other, _)| {
            let deepest = other.depth().cmp(&one.depth());
            deepest.then_with(|| one.cmp(other))
        });
        puts.sort_unstable_by(|(one, ..), (other, ..)| {
            let highest = one.depth().cmp(&other.depth());
            highest.then_with(|| one.cmp(other))
        });
        let mut ops = Vec::with_capacity(takes.len() + puts.len());
        let mut taken = HashMap::new();
        for (path, expected) in takes {
            let staged = staging.new_name();
            if state.moved.contains(&path) {
                taken.insert(path.clone(), staged.clone());
            }
            ops.push(RenameOp::Take {
                path,
                staged,
                expected,
            });
        }
        for (path, shown, replaces) in puts {
            let staged = match shown {
                Shown::Staged { flat, .. } => flat.clone(),
                Shown::Moved { path, .. } => {
                    taken.get(path).cloned().ok_or_else(|| failed(Errno::IO))?
                }
            };
            ops.push(match replaces {
                None => RenameOp::Put { staged, path },
                Some(expected) => RenameOp::Exchange {
                    staged,
                    path,
                    expected,
                },
            });
        }
        Ok(ChangeSet { ops, read })
    }

    /// Returns what the transaction changes, sorted by path, with the digests of created and changed files. The
    /// limits are those of direct calls.
    ///
    /// # Errors
    /// [`CommitError::Late`], [`CommitError::Failed`].
    pub(crate) fn changes(&self, clock: &CommitClock) -> Result<FileChanges, CommitError> {
        self.each_change(clock, DIGESTED_MAX, |_, _, _| ())
    }

    /// Returns the changes, each with its digest, and what somebody has to see of them before a decision. `workdir` is
    /// the lower layer.
    ///
    /// # Errors
    /// As [`Self::changes`].
    pub(crate) fn differences(
        &self,
        workdir: &Dir,
        clock: &CommitClock,
    ) -> Result<(FileChanges, Vec<FileDifference>), CommitError> {
        let (mut texts, mut differences) = (Differences::default(), Vec::new());
        let changes = self.each_change(clock, u64::MAX, |change, staging, layers| {
            let from = match &change.kind {
                FileChangeKind::Renamed { from } => Some((workdir, from.as_str())),
                FileChangeKind::Created | FileChangeKind::Changed | FileChangeKind::Deleted => None,
            };
            let staged = layers.staged.as_deref().map(|path| (staging, path));
            let former = layers.lower.as_deref().map(|path| (workdir, path));
            let mut difference = FileDifference::between(former, staged.or(from));
            if former.or(staged).is_some() && difference.has_file() {
                let old = text_of(former);
                let both = old.and_then(|old| Some((old, text_of(staged.or(from))?)));
                difference.diff =
                    both.and_then(|(old, new)| texts.unified(&change.path, &old, &new));
            }
            differences.push(difference);
        })?;
        Ok((changes, differences))
    }

    /// Returns the changes as [`Self::changes`] does, with the diff of each file.
    ///
    /// # Errors
    /// As [`Self::changes`].
    pub(crate) fn changes_with_diffs(
        &self,
        workdir: &Dir,
        clock: &CommitClock,
    ) -> Result<FileChanges, CommitError> {
        let (mut changes, differences) = self.differences(workdir, clock)?;
        for (file, difference) in changes.files.iter_mut().zip(differences) {
            file.diff = difference.diff;
        }
        Ok(changes)
    }

    /// Returns the changes, with the digests of files of so many bytes in all. `each` gets the staging directory, and
    /// where the change lies.
    fn each_change(
        &self,
        clock: &CommitClock,
        mut digested: u64,
        mut each: impl FnMut(&FileChange, &Dir, &Layers),
    ) -> Result<FileChanges, CommitError> {
        let mut changes = Changes::default();
        let Some(staging) = self.add_changes(&mut changes, clock)? else {
            return Ok(FileChanges::default());
        };
        let mut listed = FileChanges::default();
        let mut bytes = 0_usize;
        let all = changes.first.len();
        for (mut change, layers) in changes.first.into_sorted_vec() {
            bytes = bytes.saturating_add(change.path.len());
            if bytes > PATH_BYTES_MAX {
                break;
            }
            clock.check()?;
            each(&change, &staging, &layers);
            if let Some(staged) = layers.staged
                && let Some(digest) = digest(&staging, &staged, &mut digested).map_err(failed)?
            {
                change = change.with_digest(digest);
            }
            listed.files.push(change);
        }
        listed.truncated = changes.is_cut || listed.files.len() < all;
        Ok(listed)
    }

    /// Adds what the transaction changes, and returns its staging directory. None if it changed nothing.
    fn add_changes(
        &self,
        changes: &mut Changes,
        clock: &CommitClock,
    ) -> Result<Option<Arc<Dir>>, CommitError> {
        let state = self.lock().map_err(failed)?;
        let Some(staging) = &state.staging else {
            return Ok(None);
        };
        for ChangedName { hides, shows } in changed_names(&state) {
            clock.check()?;
            let hides = hides.filter(|(path, _)| !state.moved.contains(path));
            match (hides, shows) {
                (None, None) => {}
                (Some((path, _)), None) => {
                    changes.add(path.to_string(), FileChangeKind::Deleted, Some(&path));
                }
                (hides, Some((path, Shown::Moved { path: from, .. }))) => {
                    let mut replaced = hides.map(|(path, _)| path);
                    if let Some(elsewhere) = replaced.take_if(|replaced| *replaced != path) {
                        let deleted = FileChangeKind::Deleted;
                        changes.add(elsewhere.to_string(), deleted, Some(&elsewhere));
                    }
                    let from = from.to_string();
                    let kind = FileChangeKind::Renamed { from };
                    changes.add(path.to_string(), kind, replaced.as_ref());
                }
                (hides, Some((path, Shown::Staged { flat, .. }))) => {
                    let kind = match hides {
                        Some(_) => FileChangeKind::Changed,
                        None => FileChangeKind::Created,
                    };
                    let layers = Layers {
                        lower: hides.map(|(path, _)| path.to_string()),
                        staged: Some(flat.clone()),
                    };
                    let change = FileChange::new(path.to_string(), kind);
                    let added = changes.add_staged(staging.dir(), change, layers);
                    added.map_err(failed)?;
                }
            }
        }
        Ok(Some(Arc::clone(staging.dir())))
    }
}

/// Where a change lies.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Layers {
    /// The path in the lower layer of what is replaced or deleted.
    lower: Option<String>,
    /// The path in the staging directory of what is there afterwards.
    staged: Option<String>,
}

/// Changes, each with where it lies.
#[derive(Default)]
struct Changes {
    /// The first ones by their paths, the last of them on top: no more than are listed, and one.
    first: BinaryHeap<(FileChange, Layers)>,
    /// Bytes of their paths.
    path_bytes: usize,
    /// Whether there are more, or some at paths longer than the system takes.
    is_cut: bool,
}

impl Changes {
    fn add(&mut self, path: String, kind: FileChangeKind, lower: Option<&TreePath>) {
        let layers = Layers {
            lower: lower.map(TreePath::to_string),
            staged: None,
        };
        self.push(FileChange::new(path, kind), layers);
    }

    fn push(&mut self, change: FileChange, layers: Layers) {
        self.path_bytes += change.path.len();
        self.first.push((change, layers));
        while let Some((last, _)) = self.first.peek() {
            let rest = self.path_bytes - last.path.len();
            if self.first.len() <= FILES_MAX && rest <= PATH_BYTES_MAX {
                break;
            }
            self.path_bytes = rest;
            self.first.pop();
            self.is_cut = true;
        }
    }

    /// Adds what is staged, with all that is beneath it.
    fn add_staged(
        &mut self,
        staging: &Dir,
        change: FileChange,
        layers: Layers,
    ) -> Result<(), Errno> {
        let failed = |error: std::io::Error| errno_of(&error);
        let mut rest = vec![(change, layers)];
        while let Some((change, layers)) = rest.pop() {
            let at = layers.staged.as_deref().unwrap_or_default();
            let found = match staging.symlink_metadata(at).map_err(failed) {
                Err(Errno::NAMETOOLONG) => {
                    self.is_cut = true;
                    continue;
                }
                found => found?,
            };
            if found.is_dir() {
                for entry in staging.read_dir(at).map_err(failed)? {
                    let name = entry.map_err(failed)?.file_name();
                    let name = name.to_str().ok_or(Errno::ILSEQ)?;
                    let path = join(&change.path, name);
                    let layers = Layers {
                        lower: None,
                        staged: Some(join(at, name)),
                    };
                    rest.push((FileChange::new(path, FileChangeKind::Created), layers));
                }
            }
            self.push(change, layers);
        }
        Ok(())
    }
}

/// Returns the digest of a regular file. None of another one, and if it has more bytes than are left.
fn digest(staging: &Dir, at: &str, left: &mut u64) -> Result<Option<FileDigest>, Errno> {
    let failed = |error: std::io::Error| errno_of(&error);
    if !staging.symlink_metadata(at).map_err(failed)?.is_file() {
        return Ok(None);
    }
    // Without a change of the time of access, which the call may have set.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(staging, at, flags | KEEP_ACCESS_TIME, Mode::empty());
    let opened = match opened {
        Err(Errno::PERM) => rustix::fs::openat(staging, at, flags, Mode::empty()),
        opened => opened,
    };
    let mut file = std::fs::File::from(opened?);
    match left.checked_sub(file.metadata().map_err(failed)?.len()) {
        None => return Ok(None),
        Some(rest) => *left = rest,
    }
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        let read = file.read(&mut buffer).map_err(failed)?;
        match buffer.get(..read) {
            None | Some([]) => break,
            Some(part) => hasher.update(part),
        }
    }
    Ok(Some(FileDigest::from_sha256(hasher.finalize().into())))
}
