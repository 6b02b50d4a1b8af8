//! What a transaction changes: as renames for its commit, and as a list for receipts.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use cap_std::fs::Dir;
use sha2::{Digest, Sha256};
use toolhost_contract::{FileChange, FileChangeKind, FileChanges, FileDigest};
use toolhost_system::fs::{Mode, OFlags};
use toolhost_system::io::Errno;

use super::state::{Entry, ReadPath, Shown, State, join};
use super::view::Overlay;
use crate::accounting::file_changes::{DIGESTED_MAX, FILES_MAX, PATH_BYTES_MAX};
use crate::platform::KEEP_ACCESS_TIME;
use crate::workdir::staging::{ChangeSet, FileKind, RenameOp, Stamp};

/// A changed name, with its paths in the lower layer and in the merged view.
struct ChangedName<'a> {
    /// What the lower layer has there.
    hides: Option<(String, Stamp)>,
    shows: Option<(String, &'a Shown)>,
}

impl ChangedName<'_> {
    /// Whether a staged file or link takes the place of another one, which goes nowhere else.
    fn is_exchange(&self, state: &State) -> bool {
        let (Some((lower, stamp)), Some((merged, shown))) = (&self.hides, &self.shows) else {
            return false;
        };
        let is_staged = matches!(shown, Shown::Staged { .. });
        let no_dir = stamp.kind != FileKind::Dir && shown.kind() != FileKind::Dir;
        is_staged && no_dir && lower == merged && !state.moved.contains_key(lower)
    }
}

/// The changed names of all directories.
fn changed_names(state: &State) -> impl Iterator<Item = ChangedName<'_>> {
    state.dirs.iter().flat_map(|(id, node)| {
        let lower = state.lower_path(*id).unwrap_or_default();
        let merged = match node.entries.is_empty() {
            true => None,
            false => state.merged_path(*id),
        };
        let changed = move |(name, entry): (&String, &'_ Entry)| {
            let hides = entry.hides.map(|stamp| (join(lower, name), stamp));
            let merged = merged.as_deref().map(|above| join(above, name));
            (hides, merged)
        };
        node.entries.iter().map(move |(name, entry)| {
            let (hides, merged) = changed((name, entry));
            let shows = merged.zip(entry.shows.as_ref());
            ChangedName { hides, shows }
        })
    })
}

fn depth(path: &str) -> usize {
    path.matches('/').count()
}

impl Overlay {
    /// Returns the path in the lower layer of a file that was opened, and its first stamp.
    fn read_path(&self, (path, stamp): &(ReadPath, Stamp)) -> (String, Stamp) {
        let path = match path {
            ReadPath::Real(path) => path.clone(),
            // It may lead through symlinks. If it leads to another file by now, that is a conflict.
            ReadPath::Opened(path) => {
                let real = self.resolved(path, stamp.id).ok();
                real.unwrap_or_else(|| path.clone())
            }
        };
        (path, *stamp)
    }

    /// Returns the renames that a commit applies, and the files that were opened. What is taken out of the
    /// workdir comes first, the deepest at first; then what is put there, folders before what lies in them.
    pub(crate) fn change_set(&self) -> Result<ChangeSet, Errno> {
        let state = self.lock();
        let mut read: Vec<_> = state
            .opened
            .values()
            .map(|read| self.read_path(read))
            .collect();
        read.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let Some(staging) = &state.staging else {
            let ops = Vec::new();
            return Ok(ChangeSet { ops, read });
        };
        let (mut takes, mut puts) = (Vec::new(), Vec::new());
        for changed in changed_names(&state) {
            let is_exchange = changed.is_exchange(&state);
            let mut replaces = None;
            if let Some(hides) = changed.hides {
                match is_exchange {
                    true => replaces = Some(hides.1),
                    false => takes.push(hides),
                }
            }
            puts.extend(changed.shows.map(|(path, shown)| (path, shown, replaces)));
        }
        takes.sort_unstable_by(|(one, _), (other, _)| {
            depth(other).cmp(&depth(one)).then_with(|| one.cmp(other))
        });
        puts.sort_unstable_by(|(one, ..), (other, ..)| {
            depth(one).cmp(&depth(other)).then_with(|| one.cmp(other))
        });
        let mut ops = Vec::with_capacity(takes.len() + puts.len());
        let mut taken = HashMap::new();
        for (path, expected) in takes {
            let staged = staging.new_name();
            taken.insert(path.clone(), staged.clone());
            ops.push(RenameOp::Take {
                path,
                staged,
                expected,
            });
        }
        for (path, shown, replaces) in puts {
            let staged = match shown {
                Shown::Staged { flat, .. } => flat.clone(),
                Shown::Moved { path, .. } => taken.get(path).cloned().ok_or(Errno::IO)?,
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
    pub(crate) fn changes(&self) -> Result<FileChanges, Errno> {
        let mut changes = Changes::default();
        let Some(staging) = self.add_changes(&mut changes)? else {
            return Ok(FileChanges::default());
        };
        changes
            .list
            .sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let mut listed = FileChanges::default();
        let (mut bytes, mut left) = (0_usize, DIGESTED_MAX);
        let all = changes.list.len();
        for (mut change, staged) in changes.list.into_iter().take(FILES_MAX) {
            bytes = bytes.saturating_add(change.path.len());
            if bytes > PATH_BYTES_MAX {
                break;
            }
            if let Some(staged) = staged
                && let Some(digest) = digest(&staging, &staged, &mut left)?
            {
                change = change.with_digest(digest);
            }
            listed.files.push(change);
        }
        listed.truncated = changes.is_cut || listed.files.len() < all;
        Ok(listed)
    }

    /// Adds what the transaction changes, and returns its staging directory. None if it changed nothing.
    fn add_changes(&self, changes: &mut Changes) -> Result<Option<Arc<Dir>>, Errno> {
        let state = self.lock();
        let Some(staging) = &state.staging else {
            return Ok(None);
        };
        for ChangedName { hides, shows } in changed_names(&state) {
            let hides = hides.filter(|(path, _)| !state.moved.contains_key(path));
            match (hides, shows) {
                (None, None) => {}
                (Some((path, _)), None) => changes.add(path, FileChangeKind::Deleted),
                (hides, Some((path, Shown::Moved { path: from, .. }))) => {
                    if let Some((replaced, _)) = hides
                        && replaced != path
                    {
                        changes.add(replaced, FileChangeKind::Deleted);
                    }
                    let from = from.clone();
                    changes.add(path, FileChangeKind::Renamed { from });
                }
                (hides, Some((path, Shown::Staged { flat, .. }))) => {
                    let kind = match hides {
                        Some(_) => FileChangeKind::Changed,
                        None => FileChangeKind::Created,
                    };
                    changes.add_staged(staging.dir(), flat, path, kind)?;
                }
            }
        }
        Ok(Some(Arc::clone(staging.dir())))
    }
}

/// Changes, each with the path in the staging directory of the file whose digest is added to it.
#[derive(Default)]
struct Changes {
    list: Vec<(FileChange, Option<String>)>,
    /// Whether there are more, at paths longer than the system takes.
    is_cut: bool,
}

impl Changes {
    fn add(&mut self, path: String, kind: FileChangeKind) {
        self.list.push((FileChange::new(path, kind), None));
    }

    /// Adds what lies in the staging directory at `flat`, with all that is beneath it.
    fn add_staged(
        &mut self,
        staging: &Dir,
        flat: &str,
        path: String,
        kind: FileChangeKind,
    ) -> Result<(), Errno> {
        let failed = |error: std::io::Error| super::error::errno_of(&error);
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
            self.list.push((FileChange::new(path, kind), digested));
        }
        Ok(())
    }
}

/// Returns the digest of a file. None if it has more bytes than are left.
fn digest(staging: &Dir, at: &str, left: &mut u64) -> Result<Option<FileDigest>, Errno> {
    // Without a change of the time of access, which the call may have set.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = toolhost_system::fs::openat(staging, at, flags | KEEP_ACCESS_TIME, Mode::empty());
    let opened = match opened {
        Err(Errno::PERM) => toolhost_system::fs::openat(staging, at, flags, Mode::empty()),
        opened => opened,
    };
    let mut file = std::fs::File::from(opened?);
    let failed = |error: std::io::Error| super::error::errno_of(&error);
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
