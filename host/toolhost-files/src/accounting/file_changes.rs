//! The files that a call changes in place, compared with what was there before it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use toolhost_contract::{FileChange, FileChangeKind, FileChanges, FileDigest};
use toolhost_runtime::lock;

/// Maximum number of files in the list of a call.
pub(crate) const FILES_MAX: usize = 1_000;

/// Maximum bytes of the paths in the list of a call.
pub(crate) const PATH_BYTES_MAX: usize = 128 << 10;

/// Maximum bytes that are read for the digests of one call. Larger files have none.
pub(crate) const DIGESTED_MAX: u64 = 16 << 20;

/// The files that a call changes. Empty for a call of a transaction, whose commit lists them.
#[derive(Debug, Default)]
pub(crate) struct FileChangeBook(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    files: BTreeMap<String, FileChange>,
    path_bytes: usize,
    truncated: bool,
}

impl FileChangeBook {
    /// Records that a name was created, which did not exist.
    pub(crate) fn created(&self, path: Option<String>) {
        let mut book = lock(&self.0);
        let Some(path) = book.known(path) else { return };
        let kind = match book.files.get(&path).map(|file| &file.kind) {
            Some(_) => FileChangeKind::Changed,
            None if book.is_moved_away(&path) => FileChangeKind::Changed,
            None => FileChangeKind::Created,
        };
        book.set(path, kind);
    }

    /// Records that an existing file was opened for writing.
    pub(crate) fn changed(&self, path: Option<String>) {
        let mut book = lock(&self.0);
        let Some(path) = book.known(path) else { return };
        if !book.files.contains_key(&path) {
            book.set(path, FileChangeKind::Changed);
        }
    }

    /// Records that a name was removed.
    pub(crate) fn removed(&self, path: Option<String>) {
        let mut book = lock(&self.0);
        if let Some(path) = book.known(path) {
            book.take(&path);
        }
    }

    /// Records that a name was moved. `replaced`: the new name existed.
    pub(crate) fn renamed(&self, from: Option<String>, to: Option<String>, replaced: bool) {
        let mut book = lock(&self.0);
        let (Some(from), Some(to)) = (book.known(from), book.known(to)) else {
            return;
        };
        let existed = match book.files.get(&to).map(|file| &file.kind) {
            Some(FileChangeKind::Changed | FileChangeKind::Deleted) => true,
            Some(FileChangeKind::Created | FileChangeKind::Renamed { .. }) => false,
            None => replaced,
        };
        if let Some(of) = book.renamed_from(&to) {
            // What was moved here before is gone.
            book.set(of, FileChangeKind::Deleted);
        }
        let origin = book.take(&from);
        let kind = match (existed, origin) {
            (true, _) => FileChangeKind::Changed,
            (false, None) => FileChangeKind::Created,
            (false, Some(origin)) => {
                book.remove(&origin);
                if origin == to {
                    FileChangeKind::Changed
                } else {
                    FileChangeKind::Renamed { from: origin }
                }
            }
        };
        book.set(to.clone(), kind);
        book.move_beneath(&from, &to);
    }

    /// Returns the paths of what exists after the call.
    pub(crate) fn to_digest(&self) -> Vec<String> {
        let book = lock(&self.0);
        let exist = book
            .files
            .values()
            .filter(|file| file.kind != FileChangeKind::Deleted);
        exist.map(|file| file.path.clone()).collect()
    }

    /// Adds a digest.
    pub(crate) fn set_digest(&self, path: &str, digest: FileDigest) {
        if let Some(file) = lock(&self.0).files.get_mut(path) {
            file.digest = Some(digest);
        }
    }

    /// Returns the list.
    pub(crate) fn list(&self) -> FileChanges {
        let book = lock(&self.0);
        let mut changes = FileChanges::default();
        changes.files = book.files.values().cloned().collect();
        changes.truncated = book.truncated;
        changes
    }
}

impl Book {
    /// Returns a path that the book has or that may be added to it. Marks the list as truncated otherwise.
    fn known(&mut self, path: Option<String>) -> Option<String> {
        let path = path.filter(|path| {
            let is_full = self.truncated
                || self.files.len() >= FILES_MAX
                || self.path_bytes.saturating_add(path.len()) > PATH_BYTES_MAX;
            !is_full || self.files.contains_key(path)
        });
        self.truncated |= path.is_none();
        path
    }

    fn set(&mut self, path: String, kind: FileChangeKind) {
        self.insert(FileChange::new(path, kind));
    }

    fn insert(&mut self, file: FileChange) {
        let bytes = file.path.len();
        if self.files.insert(file.path.clone(), file).is_none() {
            self.path_bytes = self.path_bytes.saturating_add(bytes);
        }
    }

    fn remove(&mut self, path: &str) -> Option<FileChange> {
        let removed = self.files.remove(path)?;
        self.path_bytes = self.path_bytes.saturating_sub(path.len());
        Some(removed)
    }

    /// Whether what had this path before the call has another by now.
    fn is_moved_away(&self, path: &str) -> bool {
        let mut files = self.files.values();
        files.any(|file| matches!(&file.kind, FileChangeKind::Renamed { from } if from == path))
    }

    fn renamed_from(&self, path: &str) -> Option<String> {
        match self.files.get(path).map(|file| &file.kind) {
            Some(FileChangeKind::Renamed { from }) => Some(from.clone()),
            Some(FileChangeKind::Created | FileChangeKind::Changed | FileChangeKind::Deleted)
            | None => None,
        }
    }

    /// Notes that nothing has this path any more. Returns the path before the call of what had it; none if
    /// the call had created it.
    fn take(&mut self, path: &str) -> Option<String> {
        let origin = match self.remove(path).map(|file| file.kind) {
            Some(FileChangeKind::Created) => return None,
            Some(FileChangeKind::Renamed { from }) => from,
            Some(FileChangeKind::Changed) if self.is_moved_away(path) => return None,
            Some(FileChangeKind::Changed | FileChangeKind::Deleted) | None => path.to_owned(),
        };
        self.set(origin.clone(), FileChangeKind::Deleted);
        Some(origin)
    }

    /// Moves what is listed in a folder that was renamed. What was deleted in it keeps its former path.
    fn move_beneath(&mut self, from: &str, to: &str) {
        let prefix = format!("{from}/");
        let beneath: Vec<String> = self
            .files
            .values()
            .filter(|file| file.path.starts_with(&prefix) && file.kind != FileChangeKind::Deleted)
            .map(|file| file.path.clone())
            .collect();
        for path in beneath {
            let rest = path.strip_prefix(&prefix).unwrap_or_default();
            let moved = format!("{to}/{rest}");
            if let Some(mut file) = self.remove(&path) {
                file.path = moved;
                self.insert(file);
            }
        }
        while self.path_bytes > PATH_BYTES_MAX {
            let Some((path, _)) = self.files.pop_last() else {
                return;
            };
            self.path_bytes = self.path_bytes.saturating_sub(path.len());
            self.truncated = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    enum Do {
        Create(&'static str),
        Write(&'static str),
        Remove(&'static str),
        Move(&'static str, &'static str),
        Replace(&'static str, &'static str),
    }
    use Do::{Create, Move, Remove, Replace, Write};

    fn listed(steps: &[Do]) -> Vec<String> {
        let book = FileChangeBook::default();
        let some = |path: &str| Some(path.to_owned());
        for step in steps {
            match *step {
                Create(path) => book.created(some(path)),
                Write(path) => book.changed(some(path)),
                Remove(path) => book.removed(some(path)),
                Move(from, to) => book.renamed(some(from), some(to), false),
                Replace(from, to) => book.renamed(some(from), some(to), true),
            }
        }
        let list = book.list();
        assert!(!list.truncated);
        let words = list.files.iter().map(|file| match &file.kind {
            FileChangeKind::Renamed { from } => format!("{from} -> {}", file.path),
            FileChangeKind::Created | FileChangeKind::Changed | FileChangeKind::Deleted => {
                format!("{} {}", file.kind.as_str(), file.path)
            }
        });
        words.collect()
    }

    #[test]
    fn the_state_after_the_call_is_compared_with_that_before_it() {
        for (steps, expected) in [
            (&[Create("a"), Write("a")][..], &["created a"][..]),
            (&[Write("a"), Write("a")], &["changed a"]),
            (&[Create("a"), Remove("a")], &[]),
            (&[Write("a"), Remove("a")], &["deleted a"]),
            (&[Remove("a"), Create("a")], &["changed a"]),
            (&[Move("a", "b")], &["a -> b"]),
            (&[Write("a"), Move("a", "b")], &["a -> b"]),
            (&[Move("a", "b"), Move("b", "c")], &["a -> c"]),
            (&[Move("a", "b"), Move("b", "a")], &["changed a"]),
            (&[Move("a", "b"), Remove("b")], &["deleted a"]),
            (&[Move("a", "b"), Create("a")], &["changed a", "a -> b"]),
            (&[Move("a", "b"), Create("a"), Remove("a")], &["a -> b"]),
            (&[Create("a"), Move("a", "b")], &["created b"]),
            // A file is written beside the other and takes its place, as editors do.
            (&[Create("t"), Replace("t", "a")], &["changed a"]),
            (&[Replace("a", "b")], &["deleted a", "changed b"]),
            (&[Remove("b"), Move("a", "b")], &["deleted a", "changed b"]),
            (
                &[Move("a", "c"), Replace("b", "c")],
                &["deleted a", "b -> c"],
            ),
            // Folders.
            (
                &[Create("d"), Create("d/x"), Move("d", "e")],
                &["created e", "created e/x"],
            ),
            (
                &[Write("d/x"), Remove("d/y"), Move("d", "e")],
                &["deleted d/y", "d -> e", "changed e/x"],
            ),
        ] {
            assert_eq!(listed(steps), expected);
        }
    }

    #[test]
    fn the_list_has_a_limit_and_says_that_there_are_more() {
        let book = FileChangeBook::default();
        for number in 0..FILES_MAX {
            book.created(Some(format!("{number}")));
        }
        assert!(!book.list().truncated);
        book.created(Some("more".to_owned()));
        // What is listed is kept up to date.
        book.removed(Some("0".to_owned()));
        book.removed(Some("more".to_owned()));
        let list = book.list();
        assert!(list.truncated);
        assert_eq!(list.files.len(), FILES_MAX - 1);
        let book = FileChangeBook::default();
        book.created(None);
        assert!(book.list().truncated && book.list().files.is_empty());
        let book = FileChangeBook::default();
        for number in 0..100 {
            book.created(Some(format!("{number}{}", "x".repeat(4_000))));
        }
        assert!(book.list().truncated && book.list().files.len() < 33);
        let book = FileChangeBook::default();
        for number in 0..50_000 {
            let path = || Some(format!("{number}"));
            book.created(path());
            book.removed(path());
        }
        assert!(book.list().is_empty());
    }
}
