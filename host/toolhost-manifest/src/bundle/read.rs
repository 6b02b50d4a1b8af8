//! Reads files beneath a directory, and looks up the folders and links on their paths.
//!
//! `..`, absolute paths and links that leave the directory are refused by the system, not by comparing
//! strings. Named pipes, sockets and devices are refused without waiting.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::thread;

use cap_primitives::fs::{FileTypeExt, OpenOptionsExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};
use rustix::fs::{AtFlags, FileType as SystemType, OFlags, Stat, readlinkat, statat};
use toolhost_contract::{FileId, Protected};

/// Maximum number of symbolic links on a path, as in the kernel.
const LINKS_MAX: usize = 40;

/// Maximum number of components of a path, with those of the links on it.
pub(super) const STEPS_MAX: usize = 256;

/// Bytes of a file from which two threads read it.
const LARGE: u64 = 1 << 20;

/// A folder beneath a directory.
#[derive(Debug)]
pub(super) struct Folder {
    /// The path without links.
    pub(super) path: PathBuf,
    pub(super) id: FileId,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file does not exist.
    #[error("there is no such file or directory")]
    NotFound,
    /// The host has no permission.
    #[error("permission denied")]
    Denied,
    /// The path leads out of the directory.
    #[error("the path leaves the bundle's directory")]
    Outside,
    /// The file is a directory, a named pipe, a socket or a device.
    #[error("it is {kind}, not a regular file")]
    NotAFile {
        /// Its type, such as `a directory`.
        kind: &'static str,
    },
    /// The file is too large.
    #[error("it is larger than {max} bytes")]
    TooLarge {
        /// Maximum size, in bytes.
        max: u64,
    },
    /// The path has too many components and links.
    #[error("its path has too many folders and links")]
    TooFar,
    /// Another error of the system.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        let kind = error.kind();
        // If a path leaves the directory, cap-std's error has no number, and the kernel's is EXDEV.
        let is_of_system = error.raw_os_error().is_some();
        if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            Self::NotFound
        } else if kind == io::ErrorKind::PermissionDenied && is_of_system {
            Self::Denied
        } else if matches!(
            kind,
            io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices
        ) {
            Self::Outside
        } else {
            Self::Io(error)
        }
    }
}

impl From<rustix::io::Errno> for ReadError {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// Reads a regular file of at most `max` bytes beneath `dir`.
pub(super) fn read_beneath(dir: &Dir, path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    let mut steps = STEPS_MAX;
    let path = resolve(dir, path, &mut Protected::default(), &mut steps)?.path;
    check_is_file(&dir.symlink_metadata(&path)?)?;
    let mut options = OpenOptions::new();
    // If a named pipe has replaced the file since, opening does not wait for a writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    options.read(true).custom_flags(flags);
    let file = dir.open_with(&path, &options)?;
    let metadata = file.metadata()?;
    check_is_file(&metadata)?;
    if metadata.len() > max {
        return Err(ReadError::TooLarge { max });
    }
    let bytes = read_whole(file.into_std(), metadata.len(), max)?;
    if bytes.len() as u64 > max {
        return Err(ReadError::TooLarge { max });
    }
    Ok(bytes)
}

/// Reads a file of `len` bytes. If it was changed meanwhile, reads at most one byte more than `max`.
fn read_whole(mut file: File, len: u64, max: u64) -> io::Result<Vec<u8>> {
    let capacity = usize::try_from(len).unwrap_or_default();
    let mut bytes = if len >= LARGE {
        read_on_two_threads(&file, capacity)?
    } else {
        Vec::with_capacity(capacity)
    };
    // A file of the standard library is read without writing zeros into the buffer first.
    file.seek(SeekFrom::Start(bytes.len() as u64))?;
    let remaining = max.saturating_add(1).saturating_sub(bytes.len() as u64);
    file.take(remaining).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the first `len` bytes of a file, each half on a thread: most of the time goes into pages of memory
/// that are touched for the first time. Returns nothing if the file is shorter, or no thread can be started.
fn read_on_two_threads(file: &File, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let middle = len / 2;
    let (first, second) = bytes.split_at_mut(middle);
    let read: io::Result<bool> = thread::scope(|scope| {
        let second = move || file.read_exact_at(second, middle as u64);
        let Ok(other) = thread::Builder::new().spawn_scoped(scope, second) else {
            return Ok(false);
        };
        file.read_exact_at(first, 0)?;
        let panicked = |_| Err(io::Error::other("a thread panicked"));
        other.join().unwrap_or_else(panicked)?;
        Ok(true)
    });
    match read {
        Ok(true) => Ok(bytes),
        Ok(false) => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Looks up a name in a folder; if it is a link, also the path that it names. Adds the same to `protected` as
/// [`resolve`].
pub(super) fn name_beneath(
    dir: &Dir,
    folder: &Folder,
    name: &OsStr,
    protected: &mut Protected,
    steps: &mut usize,
) -> Result<(), ReadError> {
    take_step(steps)?;
    protected.add_name(folder.id, name);
    let path = folder.path.join(name);
    let stat = statat(dir, &path, AtFlags::SYMLINK_NOFOLLOW)?;
    protected.add(id_of(&stat));
    if is_link(&stat) {
        resolve(dir, &path, protected, steps)?;
    }
    Ok(())
}

/// Resolves a path beneath `dir`, following symbolic links within it. Adds the folders and links on the
/// path to `protected`, with their names. After an error, it has those before the missing one, and its
/// name. `steps` is the number of path components and links that may still be looked up.
///
/// Opens nothing, so that it needs no file descriptor. If the path is changed meanwhile, files outside
/// may be looked up, but they are never opened, as files are opened beneath `dir` alone.
pub(super) fn resolve(
    dir: &Dir,
    path: &Path,
    protected: &mut Protected,
    steps: &mut usize,
) -> Result<Folder, ReadError> {
    let mut resolved = PathBuf::new();
    let top = id_of(&statat(dir, ".", AtFlags::empty())?);
    let mut folders = Vec::new();
    let mut links = 0;
    let mut rest = reversed_parts(path);
    while let Some(part) = rest.pop() {
        take_step(steps)?;
        if part == ".." && resolved.pop() {
            folders.pop();
            continue;
        }
        if part == ".." || part == "/" {
            return Err(ReadError::Outside);
        }
        protected.add_name(folders.last().copied().unwrap_or(top), &part);
        let next = resolved.join(part);
        let stat = statat(dir, &next, AtFlags::SYMLINK_NOFOLLOW)?;
        protected.add(id_of(&stat));
        if !is_link(&stat) {
            resolved = next;
            folders.push(id_of(&stat));
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(ReadError::Io(io::ErrorKind::TooManyLinks.into()));
        }
        let target = readlinkat(dir, &next, Vec::new())?;
        let target = OsString::from_vec(target.into_bytes());
        rest.extend(reversed_parts(Path::new(&target)));
    }
    Ok(Folder {
        path: resolved,
        id: folders.last().copied().unwrap_or(top),
    })
}

pub(super) fn take_step(steps: &mut usize) -> Result<(), ReadError> {
    *steps = steps.checked_sub(1).ok_or(ReadError::TooFar)?;
    Ok(())
}

/// Returns the components of a path, the last one first.
fn reversed_parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    let parts = parts.filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

fn is_link(stat: &Stat) -> bool {
    SystemType::from_raw_mode(stat.st_mode) == SystemType::Symlink
}

fn check_is_file(metadata: &Metadata) -> Result<(), ReadError> {
    let file_type = metadata.file_type();
    let kind = if file_type.is_file() {
        return Ok(());
    } else if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(ReadError::NotAFile { kind })
}

fn id_of(stat: &Stat) -> FileId {
    // Its type depends on the system.
    #[cfg(target_os = "linux")]
    let device = stat.st_dev;
    #[cfg(target_vendor = "apple")]
    let device = u64::from(stat.st_dev.cast_unsigned());
    FileId {
        device,
        inode: stat.st_ino,
    }
}

/// Returns the identities of a directory and of all directories above it. Opens none of them, as the host
/// may lack the permission to read them.
pub(super) fn ids_to_the_root(dir: &Dir) -> Result<Vec<FileId>, ReadError> {
    /// More than the longest path has.
    const DEPTH_MAX: usize = 4096;

    let mut ids: Vec<FileId> = Vec::new();
    let mut parent = PathBuf::from(".");
    while ids.len() < DEPTH_MAX {
        let id = id_of(&statat(dir, &parent, AtFlags::empty())?);
        if ids.last() == Some(&id) {
            return Ok(ids);
        }
        ids.push(id);
        parent.push("..");
    }
    Err(ReadError::Io(io::ErrorKind::InvalidInput.into()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{LARGE, read_whole};

    #[test]
    fn a_file_is_read_whole_even_if_its_length_was_another_before() {
        let large = usize::try_from(LARGE).unwrap();
        for len in [0, 1, large - 1, large, large + 1, 3 * large + 7] {
            let content: Vec<u8> = (0..len).map(|at| (at / 5 % 251) as u8).collect();
            for before in [0, len, len + 1, len.saturating_sub(9), len / 2, len * 2] {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&content).unwrap();
                let read = read_whole(file, before as u64, u64::MAX).unwrap();
                assert!(read == content, "{before} of {len}");
            }
        }
    }

    #[test]
    fn one_byte_more_than_the_limit_is_read() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 100]).unwrap();
        assert_eq!(read_whole(file, 10, 20).unwrap().len(), 21);
    }
}
