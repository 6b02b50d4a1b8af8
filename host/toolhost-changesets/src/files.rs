//! The contents of a changeset's files, and the bundle as the changeset leaves it.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolhost_files::{
    ChangedFiles, Differences, DirView, EntryKind as Kind, Links, PrivateDir, ReadError,
};
use toolhost_store::random_text;

use crate::entry::{Digest, Entry, digest};
use crate::error::{ChangesetError, unfit};
use crate::limits::{ENTRIES_MAX, FILE_BYTES_MAX};
use crate::outcome::{ChangeKind, ChangedFile};
use crate::path::is_hidden;
use crate::records::{FileRow, FileRows, FileVersion};

/// The path of a file, the bundle's version, and that of the changeset.
type Versions<'f> = (&'f str, Option<Vec<u8>>, Option<Vec<u8>>);

/// Random letters of the name of a content.
const LETTERS: usize = 16;

/// The directory of a changeset, `{state root}/changesets/{id}`.
#[derive(Debug)]
pub(crate) struct Contents {
    dir: PathBuf,
}

impl Contents {
    pub(crate) fn of(state_root: &Path, id: &str) -> Self {
        Self {
            dir: state_root.join("changesets").join(id),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn make(&self, state_root: &Path) -> Result<(), ChangesetError> {
        PrivateDir::make_beneath(state_root, &self.dir)
            .map(drop)
            .map_err(self.failed())
    }

    /// Writes a content under a new name, and returns the name.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<String, ChangesetError> {
        let write = || -> io::Result<String> {
            let name = random_text::<LETTERS>().map_err(io::Error::other)?;
            let mut new = OpenOptions::new();
            let mut file = new
                .write(true)
                .create_new(true)
                .open(self.dir.join(&name))?;
            file.write_all(bytes)?;
            Ok(name)
        };
        write().map_err(self.failed())
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, ChangesetError> {
        fs::read(self.dir.join(name)).map_err(self.failed())
    }

    pub(crate) fn bytes(&self, name: &str) -> u64 {
        fs::metadata(self.dir.join(name)).map_or(0, |found| found.len())
    }

    /// Removes a content that no row names any more.
    pub(crate) fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.dir.join(name));
    }

    /// Removes all contents: the changeset is closed.
    pub(crate) fn remove_all(&self) {
        match fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(dir = %self.dir.display(), %error, "the files of a changeset could not be removed");
            }
            Ok(()) | Err(_) => {}
        }
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> ChangesetError {
        let path = self.dir.display().to_string();
        |source| ChangesetError::Io { path, source }
    }
}

/// The bundle as a changeset leaves it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Merged<'a> {
    pub(crate) bundle: &'a DirView,
    pub(crate) contents: &'a Contents,
    pub(crate) rows: &'a FileRows,
}

impl Merged<'_> {
    /// Returns the files with which the bundle is loaded.
    pub(crate) fn changed_files(&self) -> Result<ChangedFiles, ChangesetError> {
        let file = |(path, row): (&String, &FileRow)| match &row.version {
            FileVersion::Bundle => None,
            FileVersion::Content(name) => Some((PathBuf::from(path), Some(PathBuf::from(name)))),
            FileVersion::Deleted => Some((PathBuf::from(path), None)),
        };
        let files = self.rows.iter().filter_map(file).collect();
        ChangedFiles::new(self.contents.dir(), files).map_err(self.contents.failed())
    }

    pub(crate) fn view(&self) -> Result<DirView, ChangesetError> {
        let dir = Arc::clone(self.bundle.dir());
        Ok(DirView::new(dir, self.changed_files()?))
    }

    /// Checks that a file can be written at a path.
    pub(crate) fn check_writable(&self, path: &str) -> Result<(), ChangesetError> {
        let view = self.view()?;
        for (end, _) in path.match_indices('/') {
            let above = path.get(..end).unwrap_or_default();
            match kind(&view, above)? {
                None | Some(Kind::Directory) => {}
                Some(kind) => return Err(unfit(above, kind)),
            }
        }
        match kind(&view, path)? {
            None | Some(Kind::File) => Ok(()),
            Some(kind) => Err(unfit(path, kind)),
        }
    }

    /// Lists a folder, sorted by name. `path` is empty for the bundle's folder.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Entry>, ChangesetError> {
        let view = self.view()?;
        match kind(&view, path)? {
            Some(Kind::Directory) => {}
            Some(kind) => return Err(unfit(path, kind)),
            None => {
                let path = path.to_owned();
                return Err(ChangesetError::NotFound { path });
            }
        }
        let entries = view.list(Path::new(path), ENTRIES_MAX);
        let entries = entries.map_err(|error| ChangesetError::read(path, error))?;
        let entries = entries.into_iter().filter(|(name, _)| !is_hidden(name));
        let entry = |(name, kind): (String, Kind)| Entry {
            name,
            kind: kind.into(),
        };
        Ok(entries.map(entry).collect())
    }

    /// Returns the files that differ from the bundle's, sorted by path.
    pub(crate) fn changes(&self) -> Result<Vec<ChangedFile>, ChangesetError> {
        let mut differences = Differences::default();
        let mut changes = Vec::new();
        for versions in self.versions() {
            let (path, old, new) = versions?;
            let change = match (&old, &new) {
                (None, None) => continue,
                (Some(old), Some(new)) if old == new => continue,
                (Some(_), Some(_)) => ChangeKind::Changed,
                (None, Some(_)) => ChangeKind::Created,
                (Some(_), None) => ChangeKind::Deleted,
            };
            let bytes = new.as_ref().map(|bytes| bytes.len() as u64);
            let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
            changes.push(ChangedFile {
                path: path.to_owned(),
                change,
                bytes,
                diff: differences.unified(path, &old, &new),
            });
        }
        Ok(changes)
    }

    /// Returns the files that the changeset writes or deletes.
    fn versions(&self) -> impl Iterator<Item = Result<Versions<'_>, ChangesetError>> {
        self.rows.iter().filter_map(|(path, row)| {
            let new = match &row.version {
                FileVersion::Bundle => return None,
                FileVersion::Content(name) => match self.contents.read(name) {
                    Ok(content) => Some(content),
                    Err(error) => return Some(Err(error)),
                },
                FileVersion::Deleted => None,
            };
            // What took the place of a folder or a file of the bundle has no earlier version.
            let old = read(self.bundle, path).unwrap_or_default();
            Some(Ok((path.as_str(), old, new)))
        })
    }

    /// Returns the paths that the changeset writes or deletes and whose file in the bundle is not the one
    /// that it saw last.
    pub(crate) fn conflicts(&self) -> BTreeSet<String> {
        let rows = self.rows.iter();
        let changed = rows.filter(|(_, row)| row.version != FileVersion::Bundle);
        // What cannot be read any more, such as a file that became a folder, is a conflict too.
        let differs = |(path, row): &(&String, &FileRow)| {
            digest_at(self.bundle, path).map_or(true, |now| now != row.base)
        };
        let conflicts = changed.filter(differs);
        conflicts.map(|(path, _)| path.clone()).collect()
    }

    /// Returns whether the bundle's files are those of the changeset.
    pub(crate) fn is_applied(&self) -> bool {
        let is_same =
            |versions: Result<Versions<'_>, _>| matches!(versions, Ok((_, old, new)) if old == new);
        self.versions().all(is_same)
    }
}

/// Reads a regular file; none if there is nothing at the path. No folder on the path may be a link.
pub(crate) fn read(view: &DirView, path: &str) -> Result<Option<Vec<u8>>, ChangesetError> {
    match view.read(Path::new(path), Links::Refuse, FILE_BYTES_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadError::NotFound) => Ok(None),
        Err(error) => Err(ChangesetError::read(path, error)),
    }
}

/// Returns what lies at a path; none if there is nothing. No folder on the path may be a link.
pub(crate) fn kind(view: &DirView, path: &str) -> Result<Option<Kind>, ChangesetError> {
    let kind = view.kind(Path::new(path));
    kind.map_err(|error| ChangesetError::read(path, error))
}

/// Returns the digest of a regular file; none if there is nothing at the path.
pub(crate) fn digest_at(view: &DirView, path: &str) -> Result<Option<Digest>, ChangesetError> {
    Ok(read(view, path)?.map(|bytes| digest(&bytes)))
}
