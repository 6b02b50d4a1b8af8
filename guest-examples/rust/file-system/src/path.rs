//! Paths as a model passes them, and as this tool names them.

use std::fs;
use std::io::{self, ErrorKind};

use toolhost_guest::ToolError;

use crate::failure;

/// Folders at the top of machines. An absolute path with another one names a file of the workdir, as `glob` writes it.
const ROOTS_OF_MACHINES: [&str; 11] = [
    "Users", "Volumes", "etc", "home", "mnt", "opt", "private", "root", "tmp", "usr", "var",
];

/// A path from the workdir's root: `/a/b.txt`. Both `a/b.txt` and `/a/b.txt` name it.
pub(crate) struct GuestPath {
    absolute: String,
    was_absolute: bool,
}

impl GuestPath {
    /// Makes the path absolute, without `.` and doubled slashes. `..` stays: where it leads depends
    /// on links, which the host follows and checks.
    pub(crate) fn new(path: &str) -> Self {
        let parts: Vec<&str> = path
            .split('/')
            .filter(|part| !matches!(*part, "" | "."))
            .collect();
        Self {
            absolute: format!("/{}", parts.join("/")),
            was_absolute: path.starts_with('/'),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.absolute
    }

    /// Returns the folder that holds this path, `/` for a path at the top.
    pub(crate) fn parent(&self) -> &str {
        match self.absolute.rsplit_once('/') {
            Some((parent, _)) if !parent.is_empty() => parent,
            _ => "/",
        }
    }

    /// Refuses to make a folder such as `/home` at the top of the workdir.
    ///
    /// Models pass `/home/me/x` when they mean a file they know from elsewhere. A tree `home/me` in
    /// the workdir would be useless, so the error suggests a path. `folder` is what would
    /// be made: this path, or its parent.
    pub(crate) fn refuse_stray_tree(&self, folder: &str) -> Result<(), ToolError> {
        let Some(top) = folder.split('/').find(|part| !part.is_empty()) else {
            return Ok(());
        };
        let is_new = || {
            let found = fs::symlink_metadata(format!("/{top}"));
            found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        if self.was_absolute && ROOTS_OF_MACHINES.contains(&top) && is_new() {
            return Err(failure::stray_tree(&self.absolute, top));
        }
        Ok(())
    }
}

/// Makes a folder with those above it, and says whether it was new.
///
/// It checks first: `create_dir_all` alone reports "exists already" for a file in the way, and for a
/// link that leads out.
pub(crate) fn make_folders(folder: &str) -> io::Result<bool> {
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(false),
        Ok(_) => Err(ErrorKind::NotADirectory.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(folder).map(|()| true)
        }
        Err(error) => Err(error),
    }
}
