//! The workdir of a case: what is laid into it, and what is found in it. Opened beneath a handle: a
//! tool may leave links behind.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// Most bytes looked at of a file that a tool left behind.
const READ_MAX: u64 = 64 << 20;

/// What a case lays into its workdir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File(Vec<u8>),
    /// A directory.
    Directory,
}

/// What is found in a workdir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Nothing of the name.
    Absent,
    /// A directory.
    Directory,
    /// A file with this content.
    File(Vec<u8>),
    /// Something else: why it cannot be read.
    Unreadable(String),
}

/// The workdir of a case.
#[derive(Debug)]
pub struct WorkTree(Dir);

impl WorkTree {
    /// Opens a directory.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority()).map(Self)
    }

    /// Lays a file or a directory into it, with the directories it needs.
    ///
    /// # Errors
    /// The system's.
    pub fn lay(&self, path: &str, content: &Content) -> io::Result<()> {
        let above = Path::new(path).parent();
        if let Some(above) = above.filter(|above| !above.as_os_str().is_empty()) {
            self.0.create_dir_all(above)?;
        }
        match content {
            Content::File(bytes) => self.0.write(path, bytes),
            Content::Directory => self.0.create_dir_all(path),
        }
    }

    /// What is of this name. A link is followed as far as the directory reaches.
    #[must_use]
    pub fn state(&self, path: &str) -> FileState {
        match self.look(path) {
            Ok(state) => state,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                FileState::Absent
            }
            Err(error) => FileState::Unreadable(error.to_string()),
        }
    }

    fn look(&self, path: &str) -> io::Result<FileState> {
        let metadata = self.0.metadata(path)?;
        if metadata.is_dir() {
            return Ok(FileState::Directory);
        }
        if !metadata.is_file() {
            return Ok(FileState::Unreadable("it is no file".to_owned()));
        }
        let mut bytes = Vec::new();
        let mut file = self.0.open(path)?.take(READ_MAX.saturating_add(1));
        file.read_to_end(&mut bytes)?;
        if bytes.len() as u64 > READ_MAX {
            let reason = format!("it is larger than {READ_MAX} bytes");
            return Ok(FileState::Unreadable(reason));
        }
        Ok(FileState::File(bytes))
    }
}
