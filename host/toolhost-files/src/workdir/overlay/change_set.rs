//! What a transaction changes: as renames for its commit, and as a list for receipts.

use std::collections::{BinaryHeap, HashMap};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use toolhost_contract::{FileChange, FileChangeKind, FileChanges, FileDigest};

use super::state::{Entry, ReadPath, Shown, State, join};
use super::view::Overlay;
use crate::accounting::file_changes::{DIGESTED_MAX, FILES_MAX, PATH_BYTES_MAX};
use crate::diff::{DIFF_BYTES_MAX, Differences};
use crate::platform::KEEP_ACCESS_TIME;
use crate::workdir::error::errno_of;
use crate::workdir::staging::{ChangeSet, CommitClock, CommitError, FileKind, RenameOp, Stamp};
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
        self.each_change(clock, |_, _, _| Ok(()))
    }

    /// Returns the changes, and how the lines of each file differ: none where they cannot be shown. `workdir` is the
    /// lower layer.
    ///
    /// # Errors
    /// As [`Self::changes`].
    pub(crate) fn differences(
        &self,
        workdir: &Dir,
        clock: &CommitClock,
    ) -> Result<(FileChanges, Vec<Option<String>>), CommitError> {
        let (mut differences, mut diffs) = (Differences::default(), Vec::new());
        let changes = self.each_change(clock, |change, staging, staged| {
            let path = Path::new(&change.path);
            let former = || text_of(workdir, path);
            let versions = match &change.kind {
                FileChangeKind::Created => Some(Vec::new()),
                FileChangeKind::Changed | FileChangeKind::Deleted => former(),
                FileChangeKind::Renamed { .. } => None,
            };
            let versions = versions.and_then(|old| {
                let new = match (&change.kind, staged) {
                    (FileChangeKind::Deleted, _) => Some(Vec::new()),
                    (_, staged) => text_of(staging, Path::new(staged?)),
                };
                Some((old, new?))
            });
            let diff =
                versions.and_then(|(old, new)| differences.unified(&change.path, &old, &new));
            diffs.push(diff);
            Ok(())
        })?;
        Ok((changes, diffs))
    }

    /// Returns the changes, with what lies in the staging directory for each.
    fn each_change(
        &self,
        clock: &CommitClock,
        mut each: impl FnMut(&FileChange, &Dir, Option<&str>) -> Result<(), CommitError>,
    ) -> Result<FileChanges, CommitError> {
        let mut changes = Changes::default();
        let Some(staging) = self.add_changes(&mut changes, clock)? else {
            return Ok(FileChanges::default());
        };
        let mut listed = FileChanges::default();
        let (mut bytes, mut left) = (0_usize, DIGESTED_MAX);
        let all = changes.first.len();
        for (mut change, staged) in changes.first.into_sorted_vec() {
            bytes = bytes.saturating_add(change.path.len());
            if bytes > PATH_BYTES_MAX {
                break;
            }
            clock.check()?;
            each(&change, &staging, staged.as_deref())?;
            if let Some(staged) = staged
                && let Some(digest) = digest(&staging, &staged, &mut left).map_err(failed)?
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
                    changes.add(path.to_string(), FileChangeKind::Deleted);
                }
                (hides, Some((path, Shown::Moved { path: from, .. }))) => {
                    if let Some((replaced, _)) = hides
                        && replaced != path
                    {
                        changes.add(replaced.to_string(), FileChangeKind::Deleted);
                    }
                    let from = from.to_string();
                    changes.add(path.to_string(), FileChangeKind::Renamed { from });
                }
                (hides, Some((path, Shown::Staged { flat, .. }))) => {
                    let kind = match hides {
                        Some(_) => FileChangeKind::Changed,
                        None => FileChangeKind::Created,
                    };
                    let path = path.to_string();
                    let added = changes.add_staged(staging.dir(), flat, path, kind);
                    added.map_err(failed)?;
                }
            }
        }
        Ok(Some(Arc::clone(staging.dir())))
    }
}

/// Changes, each with the path in the staging directory of the file whose digest is added to it.
#[derive(Default)]
struct Changes {
    /// The first ones by their paths, the last of them on top: no more than are listed, and one.
    first: BinaryHeap<(FileChange, Option<String>)>,
    /// Bytes of their paths.
    path_bytes: usize,
    /// Whether there are more, or some at paths longer than the system takes.
    is_cut: bool,
}

impl Changes {
    fn add(&mut self, path: String, kind: FileChangeKind) {
        self.push(FileChange::new(path, kind), None);
    }

    fn push(&mut self, change: FileChange, staged: Option<String>) {
        self.path_bytes += change.path.len();
        self.first.push((change, staged));
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

    /// Adds what lies in the staging directory at `flat`, with all that is beneath it.
    fn add_staged(
        &mut self,
        staging: &Dir,
        flat: &str,
        path: String,
        kind: FileChangeKind,
    ) -> Result<(), Errno> {
        let failed = |error: std::io::Error| errno_of(&error);
        let mut rest = vec![(flat.to_owned(), path, kind)];
        while let Some((at, path, kind)) = rest.pop() {
            let found = match staging.symlink_metadata(&at).map_err(failed) {
                Err(Errno::NAMETOOLONG) => {
                    self.is_cut = true;
                    continue;
                }
                found => found?,
            };
            let mut digested = None;
            if found.is_dir() {
                for entry in staging.read_dir(&at).map_err(failed)? {
                    let name = entry.map_err(failed)?.file_name();
                    let name = name.to_str().ok_or(Errno::ILSEQ)?;
                    let created = FileChangeKind::Created;
                    rest.push((join(&at, name), join(&path, name), created));
                }
            } else if found.is_file() {
                digested = Some(at);
            }
            self.push(FileChange::new(path, kind), digested);
        }
        Ok(())
    }
}

/// Returns the bytes of a regular file that can be compared; none of another one.
fn text_of(dir: &Dir, path: &Path) -> Option<Vec<u8>> {
    let found = dir.symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > DIFF_BYTES_MAX as u64 {
        return None;
    }
    let mut bytes = Vec::new();
    let file = dir.open(path).ok()?;
    file.take(DIFF_BYTES_MAX as u64)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

/// Returns the digest of a file. None if it has more bytes than are left.
fn digest(staging: &Dir, at: &str, left: &mut u64) -> Result<Option<FileDigest>, Errno> {
    // Without a change of the time of access, which the call may have set.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(staging, at, flags | KEEP_ACCESS_TIME, Mode::empty());
    let opened = match opened {
        Err(Errno::PERM) => rustix::fs::openat(staging, at, flags, Mode::empty()),
        opened => opened,
    };
    let mut file = std::fs::File::from(opened?);
    let failed = |error: std::io::Error| errno_of(&error);
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
