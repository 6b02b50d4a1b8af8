//! The shell's files: those of the workdir, and a `/tmp` and `/dev` of its own.
//!
//! The host refuses a path that leaves the workdir. Bashkit follows links,
//! one by one, so the functions here never follow the last part of a path.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Error, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use bashkit::{
    DirEntry, FileSystem, FileSystemExt, FileType, InMemoryFs, Metadata, Result, async_trait,
    normalize_path,
};

use crate::symlink::symlink;

/// Folders that are in memory for one call, unless the workdir has a folder of that name.
const SCRATCH: [&str; 2] = ["/tmp", "/dev"];

pub(crate) struct Files {
    scratch: InMemoryFs,
    /// Those of [`SCRATCH`] that are in memory.
    in_memory: Vec<&'static Path>,
    /// Modes that `chmod` set: the host stores none.
    modes: Mutex<HashMap<PathBuf, u32>>,
}

impl Files {
    pub(crate) fn new() -> Self {
        let in_memory = SCRATCH.into_iter().map(Path::new);
        Self {
            scratch: InMemoryFs::new(),
            in_memory: in_memory
                .filter(|path| fs::symlink_metadata(path).is_err())
                .collect(),
            modes: Mutex::default(),
        }
    }

    /// Returns the files in memory if the path is theirs.
    fn scratch(&self, path: &Path) -> Option<&InMemoryFs> {
        let theirs = self.in_memory.iter().any(|top| path.starts_with(top));
        theirs.then_some(&self.scratch)
    }

    fn metadata(&self, path: &Path, found: &fs::Metadata, mode: Mode) -> Metadata {
        let kind = found.file_type();
        let (file_type, usual) = match mode {
            _ if kind.is_dir() => (FileType::Directory, 0o755),
            _ if kind.is_symlink() => (FileType::Symlink, 0o777),
            Mode::OfContent if is_script(path) => (FileType::File, 0o755),
            Mode::OfContent | Mode::Usual => (FileType::File, 0o644),
        };
        let modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Metadata {
            file_type,
            size: if kind.is_dir() { 0 } else { found.len() },
            mode: modes.get(path).copied().unwrap_or(usual),
            modified,
            created: modified,
        }
    }
}

/// How the mode of a file is guessed.
#[derive(Clone, Copy)]
enum Mode {
    /// Whether the file begins with `#!`, and so is executable.
    OfContent,
    Usual,
}

fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && &start == b"#!"
}

/// Formats an error as shell commands do, without the number that std adds.
fn shell_error(error: Error) -> bashkit::Error {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => Error::new(error.kind(), text.to_owned()).into(),
        None => error.into(),
    }
}

/// Makes an error with the text of the C library.
fn found(kind: ErrorKind, text: &str) -> bashkit::Error {
    Error::new(kind, text).into()
}

/// Reports a link that the host does not follow as missing, so that bashkit follows it.
fn opened(path: &Path, result: io::Result<File>) -> Result<File> {
    result.map_err(|error| match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => missing(),
        _ => shell_error(error),
    })
}

fn open_for_reading(path: &Path) -> Result<File> {
    let file = opened(path, File::open(path))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(found(ErrorKind::IsADirectory, "Is a directory")),
        _ => Ok(file),
    }
}

fn missing() -> bashkit::Error {
    found(ErrorKind::NotFound, "No such file or directory")
}

impl FileSystemExt for Files {
    fn backend_kind(&self) -> &'static str {
        "workdir"
    }
}

#[async_trait]
impl FileSystem for Files {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.read_file(&path).await;
        }
        let mut bytes = Vec::new();
        open_for_reading(&path)?
            .read_to_end(&mut bytes)
            .map_err(shell_error)?;
        Ok(bytes)
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.write_file(&path, content).await;
        }
        let mut file = opened(&path, File::create(&path))?;
        file.write_all(content).map_err(shell_error)
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.append_file(&path, content).await;
        }
        let file = OpenOptions::new().append(true).create(true).open(&path);
        opened(&path, file)?.write_all(content).map_err(shell_error)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.mkdir(&path, recursive).await;
        }
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() && recursive => Ok(()),
            Ok(_) => Err(found(ErrorKind::AlreadyExists, "File exists")),
            Err(_) if recursive => fs::create_dir_all(&path).map_err(shell_error),
            Err(_) => fs::create_dir(&path).map_err(shell_error),
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
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.stat(&path).await;
        }
        let found = fs::symlink_metadata(&path).map_err(shell_error)?;
        Ok(self.metadata(&path, &found, Mode::OfContent))
    }

    async fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.read_dir(&path).await;
        }
        let metadata = fs::symlink_metadata(&path).map_err(shell_error)?;
        if !metadata.is_dir() {
            return Err(found(ErrorKind::NotADirectory, "Not a directory"));
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(&path).map_err(shell_error)? {
            let entry = entry.map_err(shell_error)?;
            // Gone since it was listed.
            let Ok(found) = entry.metadata() else {
                continue;
            };
            let metadata = self.metadata(&entry.path(), &found, Mode::Usual);
            entries.push(DirEntry {
                name: entry.file_name().to_string_lossy().into_owned(),
                metadata,
            });
        }
        Ok(entries)
    }

    async fn exists(&self, path: &Path) -> Result<bool> {
        let path = normalize_path(path);
        match self.scratch(&path) {
            Some(scratch) => scratch.exists(&path).await,
            None => Ok(fs::symlink_metadata(&path).is_ok()),
        }
    }

    async fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let (from, to) = (normalize_path(from), normalize_path(to));
        match (self.scratch(&from), self.scratch(&to)) {
            (None, None) => fs::rename(&from, &to).map_err(shell_error),
            (Some(scratch), Some(_)) => scratch.rename(&from, &to).await,
            _ if self.stat(&from).await?.file_type.is_dir() => Err(found(
                ErrorKind::CrossesDevices,
                "Invalid cross-device link",
            )),
            _ => {
                self.copy(&from, &to).await?;
                self.remove(&from, false).await
            }
        }
    }

    async fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let content = self.read_file(from).await?;
        self.write_file(to, &content).await
    }

    async fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        let link = normalize_path(link);
        match self.scratch(&link) {
            Some(scratch) => scratch.symlink(target, &link).await,
            None => symlink(target, &link).map_err(shell_error),
        }
    }

    async fn read_link(&self, path: &Path) -> Result<PathBuf> {
        let path = normalize_path(path);
        match self.scratch(&path) {
            Some(scratch) => scratch.read_link(&path).await,
            None => fs::read_link(&path).map_err(shell_error),
        }
    }

    async fn chmod(&self, path: &Path, mode: u32) -> Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.chmod(&path, mode).await;
        }
        fs::symlink_metadata(&path).map_err(shell_error)?;
        let mut modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        modes.insert(path, mode);
        Ok(())
    }

    async fn set_modified_time(&self, path: &Path, time: SystemTime) -> Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return scratch.set_modified_time(&path, time).await;
        }
        let file = OpenOptions::new().write(true).open(&path);
        let file = file.or_else(|_| File::open(&path));
        file.and_then(|file| file.set_modified(time))
            .map_err(shell_error)
    }
}
