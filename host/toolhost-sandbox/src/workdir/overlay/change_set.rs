//! What a transaction changes: as renames for its commit, and as a list for receipts.

use std::collections::HashMap;
use std::io::Read;

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use toolhost_contract::{FileChange, FileChangeKind, FileDigest};

use super::state::{Entry, Shown, State, join};
use super::view::Overlay;
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
    /// Returns the renames that a commit applies, and the files that were opened. What is taken out of the
    /// workdir comes first, the deepest at first; then what is put there, folders before what lies in them.
    pub(crate) fn change_set(&self) -> Result<ChangeSet, Errno> {
        let state = self.lock();
        let mut read: Vec<_> = state.opened.values().cloned().collect();
        read.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let Some(staging) = &state.staging else {
            return Ok(ChangeSet {
                ops: Vec::new(),
                read,
            });
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

    /// Returns what the transaction changes, sorted by path, with the digests of created and changed files.
    pub(crate) fn changes(&self) -> Result<Vec<FileChange>, Errno> {
        let state = self.lock();
        let Some(staging) = &state.staging else {
            return Ok(Vec::new());
        };
        let mut changes = Vec::new();
        for ChangedName { hides, shows } in changed_names(&state) {
            let hides = hides.filter(|(path, _)| !state.moved.contains_key(path));
            match (hides, shows) {
                (None, None) => {}
                (Some((path, _)), None) => {
                    changes.push(FileChange::new(path, FileChangeKind::Deleted));
                }
                (hides, Some((path, Shown::Moved { path: from, .. }))) => {
                    if let Some((replaced, _)) = hides
                        && replaced != path
                    {
                        changes.push(FileChange::new(replaced, FileChangeKind::Deleted));
                    }
                    let from = from.clone();
                    changes.push(FileChange::new(path, FileChangeKind::Renamed { from }));
                }
                (hides, Some((path, Shown::Staged { flat, .. }))) => {
                    let kind = match hides {
                        Some(_) => FileChangeKind::Changed,
                        None => FileChangeKind::Created,
                    };
                    add_staged(staging.dir(), flat, path, kind, &mut changes)?;
                }
            }
        }
        changes.sort_unstable();
        Ok(changes)
    }
}

/// Adds what lies in the staging directory at `flat`, with all that is beneath it.
fn add_staged(
    staging: &Dir,
    flat: &str,
    path: String,
    kind: FileChangeKind,
    changes: &mut Vec<FileChange>,
) -> Result<(), Errno> {
    let failed = |error: std::io::Error| super::error::errno_of(&error);
    let mut rest = vec![(flat.to_owned(), path, kind)];
    while let Some((at, path, kind)) = rest.pop() {
        let found = staging.symlink_metadata(&at).map_err(failed)?;
        let mut change = FileChange::new(path.clone(), kind);
        if found.is_dir() {
            for entry in staging.read_dir(&at).map_err(failed)? {
                let name = entry.map_err(failed)?.file_name();
                let name = name.to_str().ok_or(Errno::ILSEQ)?;
                let created = FileChangeKind::Created;
                rest.push((join(&at, name), join(&path, name), created));
            }
        } else if found.is_file() {
            change = change.with_digest(digest(staging, &at)?);
        }
        changes.push(change);
    }
    Ok(())
}

fn digest(staging: &Dir, at: &str) -> Result<FileDigest, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(staging, at, flags, Mode::empty())?;
    let mut file = std::fs::File::from(opened);
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        let read = file.read(&mut buffer);
        let read = read.map_err(|error| super::error::errno_of(&error))?;
        match buffer.get(..read) {
            None | Some([]) => break,
            Some(part) => hasher.update(part),
        }
    }
    Ok(FileDigest::from_sha256(hasher.finalize().into()))
}
