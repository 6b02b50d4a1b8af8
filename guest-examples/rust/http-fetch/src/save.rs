//! `saveTo`: a file of the workdir that appears when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use toolhost_guest::ToolError;

use crate::fault;

/// Most names that are tried for the unfinished file.
const NAMES: usize = 100;

/// A file that is being written beside its place. Dropped before the commit, it leaves nothing behind.
pub(crate) struct Unfinished {
    file: Option<File>,
    /// Where it is until then.
    path: PathBuf,
    target: String,
    overwrite: bool,
    /// Folders that were made for it, the innermost last.
    folders: Vec<PathBuf>,
}

impl Unfinished {
    /// Creates the file and the folders it needs.
    ///
    /// # Errors
    /// There is a file, unless it may be replaced; or a folder; or the workdir cannot be written to.
    pub(crate) fn create(target: &str, overwrite: bool) -> Result<Self, ToolError> {
        let fail = |error| fault::file(target, error);
        let path = Path::new(target);
        let name = path.file_name().filter(|_| !target.ends_with('/'));
        if name.is_none() {
            return Err(fail(ErrorKind::IsADirectory.into()));
        }
        match fs::symlink_metadata(path) {
            Ok(entry) if entry.is_dir() => return Err(fail(ErrorKind::IsADirectory.into())),
            Ok(_) if !overwrite => return Err(fault::exists(target)),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(fail(error)),
        }
        let mut unfinished = Self {
            file: None,
            path: PathBuf::new(),
            target: target.to_owned(),
            overwrite,
            folders: Vec::new(),
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        unfinished.make_folders(folder).map_err(fail)?;
        unfinished.make_file(folder).map_err(fail)?;
        Ok(unfinished)
    }

    fn make_folders(&mut self, folder: &Path) -> io::Result<()> {
        let mut missing = Vec::new();
        for folder in folder.ancestors() {
            if folder.as_os_str().is_empty() {
                break;
            }
            match fs::metadata(folder) {
                Ok(entry) if entry.is_dir() => break,
                Ok(_) => return Err(ErrorKind::NotADirectory.into()),
                Err(error) if error.kind() == ErrorKind::NotFound => missing.push(folder),
                Err(error) => return Err(error),
            }
        }
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder)?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn make_file(&mut self, folder: &Path) -> io::Result<()> {
        for number in 0..NAMES {
            let path = folder.join(format!(".http-fetch-{number}.part"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    self.file = Some(file);
                    self.path = path;
                    return Ok(());
                }
                // Of another call.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.write_all(bytes)
            .map_err(|error| fault::file(&self.target, error))
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// Another file appeared there, or the workdir cannot be written to.
    pub(crate) fn commit(mut self) -> Result<(), ToolError> {
        if !self.overwrite {
            // Only one creates a name.
            let created = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&self.target);
            created.map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => fault::exists(&self.target),
                _ => fault::file(&self.target, error),
            })?;
        }
        if let Err(error) = fs::rename(&self.path, &self.target) {
            if !self.overwrite {
                let _ = fs::remove_file(&self.target);
            }
            return Err(fault::file(&self.target, error));
        }
        self.file = None;
        self.folders.clear();
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.path);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}
