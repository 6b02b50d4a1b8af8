//! The contents of a changeset's files, and the bundle as the changeset leaves it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toolhost::manifest::BundleView;
use toolhost_files::PrivateDir;
use toolhost_store::random_text;

use crate::diff::Differences;
use crate::error::ChangesetError;
use crate::folder::{Entry, EntryKind, Folder, unfit};
use crate::outcome::ChangedFile;
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
    pub(crate) folder: &'a Folder,
    pub(crate) contents: &'a Contents,
    pub(crate) rows: &'a FileRows,
}

impl Merged<'_> {
    /// Reads a file; none if the changeset leaves none at the path.
    pub(crate) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ChangesetError> {
        match self.version(path) {
            Some(FileVersion::Content(name)) => self.contents.read(name).map(Some),
            Some(FileVersion::Deleted) => Ok(None),
            Some(FileVersion::Bundle) | None if self.has_file_above(path) => Ok(None),
            Some(FileVersion::Bundle) | None if self.is_new_folder(path) => {
                Err(unfit(path, EntryKind::Folder))
            }
            Some(FileVersion::Bundle) | None => self.folder.read(path),
        }
    }

    /// Checks that a file can be written at a path.
    pub(crate) fn check_writable(&self, path: &str) -> Result<(), ChangesetError> {
        for (end, _) in path.match_indices('/') {
            let above = path.get(..end).unwrap_or_default();
            let kind = match self.version(above) {
                Some(FileVersion::Content(_)) => Some(EntryKind::File),
                Some(FileVersion::Deleted) => None,
                Some(FileVersion::Bundle) | None => self.folder.kind(above)?,
            };
            if let Some(kind @ (EntryKind::File | EntryKind::Link | EntryKind::Other)) = kind {
                return Err(unfit(above, kind));
            }
        }
        if self.is_new_folder(path) {
            return Err(unfit(path, EntryKind::Folder));
        }
        match self.version(path) {
            Some(FileVersion::Content(_) | FileVersion::Deleted) => Ok(()),
            Some(FileVersion::Bundle) | None => match self.folder.kind(path) {
                Ok(None | Some(EntryKind::File)) => Ok(()),
                Ok(Some(kind)) => Err(unfit(path, kind)),
                // A file above it is deleted: it is looked up beneath nothing.
                Err(error) => Err(error),
            },
        }
    }

    /// Lists a folder, sorted by name. `path` is empty for the bundle's folder.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Entry>, ChangesetError> {
        let not_found = || ChangesetError::NotFound {
            path: path.to_owned(),
        };
        if matches!(self.version(path), Some(FileVersion::Content(_))) {
            return Err(unfit(path, EntryKind::File));
        }
        let own = match self.version(path) {
            Some(FileVersion::Deleted) => None,
            _ => self.folder.list(path)?,
        };
        if own.is_none() && !self.is_new_folder(path) {
            return Err(not_found());
        }
        let beneath = |name: &str| match path {
            "" => name.to_owned(),
            _ => format!("{path}/{name}"),
        };
        let mut entries: BTreeMap<String, EntryKind> = BTreeMap::new();
        for entry in own.unwrap_or_default() {
            let is_deleted = self.version(&beneath(&entry.name)) == Some(&FileVersion::Deleted);
            if !is_deleted && !is_hidden(&entry.name) {
                entries.insert(entry.name, entry.kind);
            }
        }
        let prefix = beneath("");
        for (file, row) in self.rows {
            let Some(rest) = file.strip_prefix(&prefix) else {
                continue;
            };
            if matches!(row.version, FileVersion::Content(_)) {
                match rest.split_once('/') {
                    Some((folder, _)) => entries.insert(folder.to_owned(), EntryKind::Folder),
                    None => entries.insert(rest.to_owned(), EntryKind::File),
                };
            }
        }
        let entries = entries.into_iter();
        Ok(entries.map(|(name, kind)| Entry::new(name, kind)).collect())
    }

    /// Returns the files that differ from the bundle's, sorted by path.
    pub(crate) fn changes(&self) -> Result<Vec<ChangedFile>, ChangesetError> {
        let mut differences = Differences::new();
        let mut changes = Vec::new();
        for versions in self.versions() {
            let (path, old, new) = versions?;
            changes.extend(differences.of(path, old.as_deref(), new.as_deref()));
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
            let old = self.folder.read(path).unwrap_or_default();
            Some(Ok((path.as_str(), old, new)))
        })
    }

    /// Returns the view with which the bundle is loaded.
    pub(crate) fn view(&self) -> Result<BundleView, ChangesetError> {
        let file = |(path, row): (&String, &FileRow)| match &row.version {
            FileVersion::Bundle => None,
            FileVersion::Content(name) => Some((PathBuf::from(path), Some(PathBuf::from(name)))),
            FileVersion::Deleted => Some((PathBuf::from(path), None)),
        };
        let files = self.rows.iter().filter_map(file).collect();
        let view = BundleView::new(self.contents.dir(), files);
        view.map_err(self.contents.failed())
    }

    /// Returns the paths that the changeset writes or deletes and whose file in the bundle is not the one
    /// that it saw last.
    pub(crate) fn conflicts(&self) -> BTreeSet<String> {
        let rows = self.rows.iter();
        let changed = rows.filter(|(_, row)| row.version != FileVersion::Bundle);
        // What cannot be read any more, such as a file that became a folder, is a conflict too.
        let differs = |(path, row): &(&String, &FileRow)| {
            self.folder.digest(path).map_or(true, |now| now != row.base)
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

    fn version(&self, path: &str) -> Option<&FileVersion> {
        self.rows.get(path).map(|row| &row.version)
    }

    /// Whether the changeset has written or deleted a file in the place of a folder of the path.
    fn has_file_above(&self, path: &str) -> bool {
        let mut above = path.match_indices('/').map(|(end, _)| end);
        let replaced = |end: usize| {
            let version = self.version(path.get(..end).unwrap_or_default());
            matches!(
                version,
                Some(FileVersion::Content(_) | FileVersion::Deleted)
            )
        };
        above.any(replaced)
    }

    /// Whether the changeset has written files beneath a path.
    fn is_new_folder(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        let mut rows = self.rows.range(prefix.clone()..);
        let mut beneath = rows
            .by_ref()
            .take_while(|(file, _)| file.starts_with(&prefix));
        beneath.any(|(_, row)| matches!(row.version, FileVersion::Content(_)))
    }
}
