//! The files in which version 0.1 kept the tokens of MCP servers, unencrypted.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use toolhost_contract::text;
use toolhost_files::{PrivateDir, PrivateFile};
use zeroize::Zeroizing;

use crate::secret::Secret;

/// Folder of the files, in the state root.
const FOLDER: &str = "mcp-credentials";

/// Most bytes of a file.
const BYTES_MAX: u64 = 256 << 10;

/// The file of one server at one URL.
#[derive(Debug, Clone)]
pub(crate) struct EarlierFile {
    state_root: PathBuf,
    folder: PathBuf,
    /// Without extension.
    name: String,
}

impl EarlierFile {
    pub(crate) fn find(state_root: &Path, server: &str, url: &str) -> Option<Self> {
        let digest = Sha256::digest(url.as_bytes());
        let digest = text::hex(digest.iter().take(8));
        let file = Self {
            state_root: state_root.to_owned(),
            folder: state_root.join(FOLDER),
            name: format!("{server}.{digest}"),
        };
        fs::symlink_metadata(file.path("json"))
            .is_ok()
            .then_some(file)
    }

    /// Returns the text. None where the file has none, or more than a release wrote.
    ///
    /// # Errors
    /// Where a directory or the file is a link, or others can write the one or read the other.
    pub(crate) fn read(&self) -> io::Result<Option<Secret>> {
        PrivateDir::open_beneath(&self.state_root, &self.folder)?;
        let file = match PrivateFile::open(&self.path("json"), OFlags::RDONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = Zeroizing::new(Vec::new());
        file.into_file()
            .take(BYTES_MAX + 1)
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > BYTES_MAX {
            return Ok(None);
        }
        Ok(std::str::from_utf8(&bytes).ok().map(Secret::new))
    }

    /// Removes the file and its lock, and the folder if it is empty then. Returns whether there was a file.
    pub(crate) fn remove(&self) -> bool {
        if PrivateDir::open_beneath(&self.state_root, &self.folder).is_err() {
            return false;
        }
        let was_there = fs::remove_file(self.path("json")).is_ok();
        let _lock = fs::remove_file(self.path("lock"));
        // Fails while there are other files.
        let _folder = fs::remove_dir(&self.folder);
        was_there
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }
}
