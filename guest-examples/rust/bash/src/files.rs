//! The shell's files: those of the workdir, and a `/tmp` and `/dev` of its own.
//!
//! The host refuses a path that leaves the workdir. Bashkit follows links,
//! one by one, so the functions here never follow the last part of a path.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Error, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use bashkit::{DirEntry, FileSystem as _, FileType, InMemoryFs, Metadata, Result, normalize_path};

use toolhost_guest::files::symlink_mode;

use crate::status::Status;
use crate::symlink::symlink;
use crate::workdir::{self, Found};

mod file_system;
mod outputs;

/// Folders that are in memory for one call, unless the workdir has a folder of that name.
const SCRATCH: [&str; 2] = ["/tmp", "/dev"];

/// The most links that follow one another.
const LINKS: usize = 40;

/// The largest file that is extended in memory.
const SCRATCH_FILE_BYTES: u64 = 16 << 20;

/// The permissions that new files do not get unless the script sets them: those of the host's own umask.
const UMASK: u32 = 0o022;

/// Commands of this crate use these files without futures; bashkit uses them as its [`FileSystem`].
pub(crate) struct Files {
    /// Made when a path first leads there, as few calls use them.
    scratch: OnceLock<InMemoryFs>,
    /// Whether each of [`SCRATCH`] is in memory.
    in_memory: [OnceLock<bool>; SCRATCH.len()],
    umask: AtomicU32,
    /// Files that output redirections have opened, by the path that they name.
    outputs: Mutex<Vec<(PathBuf, File)>>,
}

impl Files {
    pub(crate) fn new() -> Self {
        Self {
            scratch: OnceLock::new(),
            in_memory: Default::default(),
            umask: AtomicU32::new(UMASK),
            outputs: Mutex::default(),
        }
    }

    /// Sets the permissions that new files and folders do not get; `None` for the usual ones.
    pub(crate) fn set_umask(&self, umask: Option<u32>) {
        self.umask.store(umask.unwrap_or(UMASK), Ordering::Relaxed);
    }

    pub(crate) fn umask(&self) -> u32 {
        self.umask.load(Ordering::Relaxed)
    }

    /// Makes a file or a folder of the workdir, with the permissions that the umask leaves of `most` if it is new.
    fn make<T>(
        &self,
        path: &Path,
        most: u32,
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let umask = self.umask();
        if umask == UMASK || fs::symlink_metadata(path).is_ok() {
            return make();
        }
        let made = make()?;
        toolhost_guest::files::set_mode(path, most & !umask)?;
        Ok(made)
    }

    /// Returns the files in memory if the path is theirs.
    fn scratch(&self, path: &Path) -> Option<&InMemoryFs> {
        let mut tops = SCRATCH.iter().zip(&self.in_memory);
        let (top, in_memory) = tops.find(|(top, _)| path.starts_with(top))?;
        let in_memory = in_memory.get_or_init(|| fs::symlink_metadata(top).is_err());
        in_memory.then(|| self.scratch.get_or_init(InMemoryFs::new))
    }
}

/// What is at a path of the workdir.
fn metadata_of(path: &Path) -> io::Result<Metadata> {
    let found = match workdir::status(path) {
        Some(found) => found,
        None => found_by_std(&fs::symlink_metadata(path)?),
    };
    let mode = match found.file_type {
        FileType::Symlink => 0o777,
        FileType::File | FileType::Directory | FileType::Fifo => symlink_mode(path)?,
    };
    Ok(Metadata {
        file_type: found.file_type,
        size: if found.file_type.is_dir() {
            0
        } else {
            found.size
        },
        mode,
        modified: found.modified,
        created: found.modified,
    })
}

fn found_by_std(metadata: &fs::Metadata) -> Found {
    Found {
        file_type: type_of(metadata.file_type()),
        size: metadata.len(),
        modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
    }
}

fn type_of(kind: fs::FileType) -> FileType {
    if kind.is_dir() {
        FileType::Directory
    } else if kind.is_symlink() {
        FileType::Symlink
    } else {
        FileType::File
    }
}

/// The names in a folder of the workdir and what each is, in no order. A link is not followed.
fn list(path: &Path) -> io::Result<Vec<(String, FileType)>> {
    if let Some(names) = workdir::list(path) {
        return Ok(names);
    }
    if !fs::symlink_metadata(path)?.is_dir() {
        return Err(error(ErrorKind::NotADirectory, "Not a directory"));
    }
    list_by_std(path)
}

fn list_by_std(path: &Path) -> io::Result<Vec<(String, FileType)>> {
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, type_of(entry.file_type()?)))
    };
    fs::read_dir(path)?.map(entry).collect()
}

/// The text of an error as the C library has it, without the number that std adds.
pub(crate) fn text_of(error: &Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

fn shell_error(error: Error) -> bashkit::Error {
    Error::new(error.kind(), text_of(&error)).into()
}

fn error(kind: ErrorKind, text: &str) -> Error {
    Error::new(kind, text)
}

/// Reports a link that the host does not follow as missing, so that bashkit follows it.
fn opened(path: &Path, result: io::Result<File>) -> io::Result<File> {
    result.map_err(|failure| match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            error(ErrorKind::NotFound, "No such file or directory")
        }
        _ => failure,
    })
}

fn open_for_reading(path: &Path) -> io::Result<File> {
    let file = opened(path, File::open(path))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(error(ErrorKind::IsADirectory, "Is a directory")),
        _ => Ok(file),
    }
}

impl Files {
    /// Reads a whole file.
    pub(crate) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return now(scratch.read_file(&path));
        }
        if let Some(bytes) = workdir::read(&path) {
            return Ok(bytes);
        }
        let mut bytes = Vec::new();
        open_for_reading(&path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file to read it from its beginning, bit by bit.
    pub(crate) fn reader(&self, path: &Path) -> io::Result<Box<dyn io::Read>> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            let bytes = now(scratch.read_file(&path))?;
            return Ok(Box::new(io::Cursor::new(bytes)));
        }
        Ok(Box::new(open_for_reading(&path)?))
    }

    /// Opens a file to write it bit by bit, and cuts it off at a length. Returns `None` for a file in memory, which is
    /// written as a whole.
    pub(crate) fn writer(&self, path: &Path, length: u64) -> io::Result<Option<File>> {
        let path = normalize_path(path);
        if self.scratch(&path).is_some() {
            return Ok(None);
        }
        if length == 0 {
            return opened(&path, File::create(&path)).map(Some);
        }
        let mut file = opened(&path, OpenOptions::new().write(true).open(&path))?;
        file.set_len(length)?;
        file.seek(io::SeekFrom::Start(length))?;
        Ok(Some(file))
    }

    /// Replaces a file's content, or makes the file.
    pub(crate) fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return now(scratch.write_file(&path, content));
        }
        let file = self.make(&path, 0o666, || File::create(&path));
        opened(&path, file)?.write_all(content)
    }

    /// Adds to the end of a file, or makes the file.
    pub(crate) fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return now(scratch.append_file(&path, content));
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let file = self.make(&path, 0o666, || options.open(&path));
        opened(&path, file)?.write_all(content)
    }

    /// Sets the size of a file, or makes one of that size.
    pub(crate) fn set_size(&self, path: &Path, size: u64) -> io::Result<()> {
        let path = self.target(path).unwrap_or_else(|_| normalize_path(path));
        let Some(scratch) = self.scratch(&path) else {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            let file = self.make(&path, 0o666, || options.open(&path))?;
            return file.set_len(size);
        };
        if size > SCRATCH_FILE_BYTES {
            return Err(error(ErrorKind::FileTooLarge, "File too large"));
        }
        let mut content = now(scratch.read_file(&path)).unwrap_or_default();
        content.resize(usize::try_from(size).unwrap_or(0), 0);
        now(scratch.write_file(&path, &content))
    }

    /// Makes a folder whose parent exists.
    pub(crate) fn make_folder(&self, path: &Path) -> io::Result<()> {
        let path = normalize_path(path);
        match self.scratch(&path) {
            Some(scratch) => now(scratch.mkdir(&path, false)),
            None => self.make(&path, 0o777, || fs::create_dir(&path)),
        }
    }

    /// Removes a file or a link.
    pub(crate) fn remove_file(&self, path: &Path) -> io::Result<()> {
        let path = normalize_path(path);
        match self.scratch(&path) {
            Some(scratch) => now(scratch.remove(&path, false)),
            None => fs::remove_file(&path),
        }
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let path = normalize_path(path);
        match self.scratch(&path) {
            Some(scratch) => now(scratch.remove(&path, false)),
            None => fs::remove_dir(&path),
        }
    }

    /// What is at a path; a link is not followed.
    pub(crate) fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return now(scratch.stat(&path));
        }
        metadata_of(&path)
    }

    /// Identity, links and times of what is at a path; a link is not followed.
    pub(crate) fn status(&self, path: &Path) -> io::Result<Status> {
        let path = normalize_path(path);
        let Some(scratch) = self.scratch(&path) else {
            return Status::read(&path);
        };
        let metadata = now(scratch.stat(&path))?;
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        Ok(Status {
            device: 1,
            inode: hasher.finish() >> 32,
            links: 1,
            size: if metadata.file_type.is_dir() {
                4096
            } else {
                metadata.size
            },
            accessed: metadata.modified,
            changed: metadata.modified,
        })
    }

    /// What is at a path, after its links.
    pub(crate) fn target_metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.metadata(&self.target(path)?)
    }

    /// The path that a path leads to once the links at its end are followed.
    pub(crate) fn target(&self, path: &Path) -> io::Result<PathBuf> {
        let mut path = normalize_path(path);
        for _ in 0..LINKS {
            if !self.metadata(&path)?.file_type.is_symlink() {
                return Ok(path);
            }
            let folder = path.parent().unwrap_or(&path);
            path = normalize_path(&folder.join(self.read_link(&path)?));
        }
        Err(Error::other("Too many levels of symbolic links"))
    }

    /// Returns what a path leads to, unless that is in memory or not there.
    pub(crate) fn target_on_disk(&self, path: &Path) -> Option<PathBuf> {
        let target = self.target(path).ok()?;
        self.scratch(&target).is_none().then_some(target)
    }

    /// The path without links.
    pub(crate) fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        let mut physical = PathBuf::from("/");
        for part in normalize_path(path).components().skip(1) {
            physical = self.target(&physical.join(part))?;
        }
        Ok(physical)
    }

    /// The path without links in what is before its last part, which may be missing.
    pub(crate) fn canonical_new(&self, path: &Path) -> io::Result<PathBuf> {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => Ok(self.canonical(folder)?.join(name)),
            _ => self.canonical(path),
        }
    }

    /// The entries of a folder, in no order.
    pub(crate) fn entries(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return now(scratch.read_dir(&path));
        }
        let entries = list(&path)?.into_iter();
        // Leaves out what is gone since it was listed.
        let entry = |(name, _)| {
            let metadata = metadata_of(&path.join(&name)).ok()?;
            Some(DirEntry { name, metadata })
        };
        Ok(entries.filter_map(entry).collect())
    }

    /// The names in a folder and what each is, sorted. A link is followed. Cheaper than [`Self::entries`].
    pub(crate) fn names(&self, path: &Path) -> io::Result<Vec<(String, FileType)>> {
        let path = normalize_path(path);
        let mut names = match self.scratch(&path) {
            Some(scratch) => {
                let entries = now(scratch.read_dir(&path))?.into_iter();
                entries
                    .map(|entry| (entry.name, entry.metadata.file_type))
                    .collect()
            }
            None => workdir::list(&path).map_or_else(|| list_by_std(&path), Ok)?,
        };
        names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(names)
    }

    /// Copies the content of a file.
    pub(crate) fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (normalize_path(from), normalize_path(to));
        if self.scratch(&from).is_some() || self.scratch(&to).is_some() {
            return self.write(&to, &self.read(&from)?);
        }
        let mut source = open_for_reading(&from)?;
        let mut target = opened(&to, File::create(&to))?;
        io::copy(&mut source, &mut target).map(drop)
    }

    /// Moves a file or a folder; between the workdir and memory, only a file.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (normalize_path(from), normalize_path(to));
        match (self.scratch(&from), self.scratch(&to)) {
            (None, None) => fs::rename(&from, &to),
            (Some(scratch), Some(_)) => now(scratch.rename(&from, &to)),
            _ => {
                let moved = self.metadata(&from)?;
                if moved.file_type.is_dir() {
                    let text = "Invalid cross-device link";
                    return Err(error(ErrorKind::CrossesDevices, text));
                }
                self.write(&to, &self.read(&from)?)?;
                self.set_mode(&to, moved.mode)?;
                self.set_modified(&to, moved.modified)?;
                self.remove_file(&from)
            }
        }
    }

    pub(crate) fn symlink(&self, target: &Path, link: &Path) -> io::Result<()> {
        let link = normalize_path(link);
        match self.scratch(&link) {
            Some(scratch) => now(scratch.symlink(target, &link)),
            None => symlink(target, &link),
        }
    }

    pub(crate) fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let path = normalize_path(path);
        match self.scratch(&path) {
            Some(scratch) => now(scratch.read_link(&path)),
            None => fs::read_link(&path),
        }
    }

    /// Sets the permissions of a file or a folder. The host sets no others, and none beyond its umask.
    pub(crate) fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return now(scratch.chmod(&path, mode));
        }
        if mode & !0o777 != 0 {
            let text = "Operation not permitted";
            return Err(error(ErrorKind::PermissionDenied, text));
        }
        toolhost_guest::files::set_mode(&path, mode)
    }

    pub(crate) fn set_modified(&self, path: &Path, time: SystemTime) -> io::Result<()> {
        let path = normalize_path(path);
        if let Some(scratch) = self.scratch(&path) {
            return now(scratch.set_modified_time(&path, time));
        }
        self.set_times(&path, FileTimes::new().set_modified(time))
    }

    /// Sets times of a file or a folder of the workdir; those in memory have only that of the change.
    pub(crate) fn set_times(&self, path: &Path, times: FileTimes) -> io::Result<()> {
        let path = normalize_path(path);
        if self.scratch(&path).is_some() {
            return Ok(());
        }
        let file = OpenOptions::new().write(true).open(&path);
        let file = file.or_else(|_| File::open(&path));
        file.and_then(|file| file.set_times(times))
    }
}

/// The result of a future of files in memory, which never waits.
fn now<T>(future: impl Future<Output = Result<T>>) -> io::Result<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(Ok(value)) => Ok(value),
        Poll::Ready(Err(bashkit::Error::Io(error))) => Err(error),
        Poll::Ready(Err(error)) => Err(Error::other(error.to_string())),
        Poll::Pending => Err(Error::other("a file in memory is not ready")),
    }
}
