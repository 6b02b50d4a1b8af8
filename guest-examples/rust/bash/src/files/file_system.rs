//! The shell's files as bashkit uses them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bashkit::{
    DirEntry, FileSystem, FileSystemExt, Metadata, Output, Result, async_trait, normalize_path,
};

use super::{Files, error, list, shell_error};

impl FileSystemExt for Files {
    fn backend_kind(&self) -> &'static str {
        "workdir"
    }
}

#[async_trait]
impl FileSystem for Files {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        self.read(path).map_err(shell_error)
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.write(path, content).map_err(shell_error)
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.append(path, content).map_err(shell_error)
    }

    async fn output(&self, path: &Path, step: Output<'_>) -> Result<()> {
        let done = match step {
            Output::Open {
                target,
                append,
                umask,
            } => {
                self.set_umask(umask);
                self.open_output(path, target, append)
            }
            Output::Piece(content) => self.write_output(path, content, false),
            Output::Last(content) => self.write_output(path, content, true),
        };
        done.map_err(shell_error)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.mkdir(&path, recursive).await;
        }
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() && recursive => Ok(()),
            Ok(_) => Err(shell_error(error(ErrorKind::AlreadyExists, "File exists"))),
            Err(_) if recursive => fs::create_dir_all(&path).map_err(shell_error),
            Err(_) => self.make_folder(&path).map_err(shell_error),
        }
    }

    async fn remove(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.remove(&path, recursive).await;
        }
        let metadata = fs::symlink_metadata(&path).map_err(shell_error)?;
        let removed = match (metadata.is_dir(), recursive) {
            (true, true) => fs::remove_dir_all(&path),
            (true, false) => fs::remove_dir(&path),
            (false, _) => fs::remove_file(&path),
        };
        removed.map_err(shell_error)
    }

    async fn stat(&self, path: &Path) -> Result<Metadata> {
        self.metadata(path).map_err(shell_error)
    }

    async fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        self.entries(path).map_err(shell_error)
    }

    async fn list_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.read_dir(&path).await;
        }
        let names = list(&path).map_err(shell_error)?.into_iter();
        let entry = |(name, file_type)| DirEntry {
            name,
            metadata: Metadata {
                file_type,
                size: 0,
                mode: 0,
                modified: SystemTime::UNIX_EPOCH,
                created: SystemTime::UNIX_EPOCH,
            },
        };
        Ok(names.map(entry).collect())
    }

    async fn exists(&self, path: &Path) -> Result<bool> {
        Ok(self.metadata(path).is_ok())
    }

    async fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        Files::rename(self, from, to).map_err(shell_error)
    }

    async fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let content = self.read(from).map_err(shell_error)?;
        self.write(to, &content).map_err(shell_error)
    }

    async fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        Files::symlink(self, target, link).map_err(shell_error)
    }

    async fn read_link(&self, path: &Path) -> Result<PathBuf> {
        Files::read_link(self, path).map_err(shell_error)
    }

    async fn chmod(&self, path: &Path, mode: u32) -> Result<()> {
        self.set_mode(path, mode).map_err(shell_error)
    }

    async fn set_modified_time(&self, path: &Path, time: SystemTime) -> Result<()> {
        self.set_modified(path, time).map_err(shell_error)
    }
}
