//! The workdir of a case: the files put into it, and the files found in it. Opened beneath a handle, as a
//! tool may leave links behind.

use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolhost_files::{EntryKind, Links, ReadError, read_beneath};

/// Most bytes read of a file that a tool left behind.
const READ_MAX: u64 = 64 << 20;

/// What a case puts into its workdir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File(Vec<u8>),
    /// A directory.
    Directory,
}

/// What is found in a workdir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileState {
    /// Nothing has the name.
    Absent,
    /// A directory.
    Directory,
    /// A file with this content.
    File(Vec<u8>),
    /// Something that cannot be read, and the reason.
    Unreadable(String),
}

/// The workdir of a case.
#[derive(Debug)]
pub(crate) struct WorkTree(Dir);

impl WorkTree {
    /// Opens a directory.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority()).map(Self)
    }

    /// Writes a file or creates a directory, with its parents.
    pub(crate) fn write(&self, path: &str, content: &Content) -> io::Result<()> {
        let parent = Path::new(path).parent();
        if let Some(parent) = parent.filter(|parent| !parent.as_os_str().is_empty()) {
            self.0.create_dir_all(parent)?;
        }
        match content {
            Content::File(bytes) => self.0.write(path, bytes),
            Content::Directory => self.0.create_dir_all(path),
        }
    }

    /// Returns what has this name. Follows links within the directory.
    pub(crate) fn state(&self, path: &str) -> FileState {
        match read_beneath(&self.0, Path::new(path), Links::Follow, READ_MAX) {
            Ok(bytes) => FileState::File(bytes),
            Err(ReadError::NotFound) => FileState::Absent,
            Err(ReadError::NotAFile {
                kind: EntryKind::Directory,
            }) => FileState::Directory,
            Err(error) => FileState::Unreadable(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_the_workdir_is_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let work = top.path().join("work");
        std::fs::create_dir(&work).unwrap();
        std::fs::write(top.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink("../secret", work.join("out")).unwrap();
        let tree = WorkTree::open(&work).unwrap();
        assert!(matches!(tree.state("out"), FileState::Unreadable(_)));
        tree.write("a/b.txt", &Content::File(b"hi".to_vec()))
            .unwrap();
        assert_eq!(tree.state("a/b.txt"), FileState::File(b"hi".to_vec()));
        assert_eq!(tree.state("a"), FileState::Directory);
        assert_eq!(tree.state("a/b.txt/c"), FileState::Absent);
        assert!(tree.write("out", &Content::File(b"x".to_vec())).is_err());
        assert_eq!(std::fs::read(top.path().join("secret")).unwrap(), b"s");
    }
}
