//! Reads a file beneath a directory, once, and remembers what led to it.
//!
//! Refused by the system, not by comparing strings: `..`, absolute paths and symbolic links that
//! lead out of the directory. Named pipes, sockets and devices are refused and never waited for.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, FileType, FileTypeExt, Metadata, OpenOptions, OpenOptionsExt};
use rustix::fs::{AtFlags, FileType as SystemType, OFlags, Stat, readlinkat, statat};
use toolhost_contract::{FileId, Protected};

/// Most symbolic links followed, as many as the kernel follows.
const LINKS_MAX: usize = 40;

/// Most steps to one file, those of links among them: no bundle lies deeper.
const STEPS_MAX: usize = 256;

/// How many more steps are taken: whoever made a bundle may be a stranger.
#[derive(Debug)]
pub(super) struct Steps(usize);

impl Steps {
    /// For so many files.
    pub(super) fn at_most(steps: usize) -> Self {
        Self(steps)
    }

    fn take(&mut self) -> Result<(), ReadError> {
        self.0 = self.0.checked_sub(1).ok_or(ReadError::TooFar)?;
        Ok(())
    }
}

/// A folder beneath a directory.
#[derive(Debug)]
pub(super) struct Folder {
    /// The way to it, without links.
    path: PathBuf,
    id: FileId,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not there.
    #[error("there is no such file or directory")]
    NotFound,
    /// We may not.
    #[error("permission denied")]
    Denied,
    /// It leads out of the directory it must lie beneath.
    #[error("it leads out of the bundle's directory")]
    Outside,
    /// It is a directory, a named pipe, a socket or a device.
    #[error("it is {found}, not a regular file")]
    NotAFile {
        /// What it is, such as `a directory`.
        found: &'static str,
    },
    /// It is larger than it may be.
    #[error("it is larger than {max} bytes")]
    TooLarge {
        /// Largest size, in bytes.
        max: u64,
    },
    /// The way to it has more steps than are taken.
    #[error("its path has too many folders and links")]
    TooFar,
    /// The system says something else.
    #[error("it cannot be read")]
    Io(#[source] io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        let kind = error.kind();
        let is_ours = error.raw_os_error().is_none();
        if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            return Self::NotFound;
        }
        // cap-std's own answer to a way out has no number, the kernel's is EXDEV.
        let denied = kind == io::ErrorKind::PermissionDenied;
        if (denied && is_ours) || kind == io::ErrorKind::CrossesDevices {
            return Self::Outside;
        }
        if denied {
            return Self::Denied;
        }
        Self::Io(error)
    }
}

/// Reads a regular file of at most `max` bytes beneath `dir`.
pub(super) fn read_beneath(dir: &Dir, path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    let mut steps = Steps::at_most(STEPS_MAX);
    let path = resolve(dir, path, &mut Protected::default(), &mut steps)?.path;
    check_is_file(&dir.symlink_metadata(&path)?)?;
    let mut options = OpenOptions::new();
    // Were it replaced by a named pipe now, opening would not wait for a writer.
    options
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = dir.open_with(&path, &options)?;
    let metadata = file.metadata()?;
    check_is_file(&metadata)?;
    if metadata.len() > max {
        return Err(ReadError::TooLarge { max });
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(ReadError::TooLarge { max });
    }
    Ok(bytes)
}

/// Finds a name in a folder, and where it is a link what leads on from there.
pub(super) fn name_beneath(
    dir: &Dir,
    folder: &Folder,
    name: &OsStr,
    met: &mut Protected,
    steps: &mut Steps,
) -> Result<(), ReadError> {
    steps.take()?;
    met.add_name(folder.id, name);
    let path = folder.path.join(name);
    let stat = statat(dir, &path, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from)?;
    met.add(id_of(&stat));
    if SystemType::from_raw_mode(stat.st_mode) == SystemType::Symlink {
        resolve(dir, &path, met, steps)?;
    }
    Ok(())
}

/// Finds what a path leads to beneath `dir`, following symbolic links within it, and adds the
/// directories and links on the way with their names. Where it fails, `met` holds those before; what
/// is missing is there by its name.
///
/// Asks without opening, so that it needs no descriptor. What is swapped on the way meanwhile may be
/// looked at outside, and is opened nowhere but beneath `dir`.
pub(super) fn resolve(
    dir: &Dir,
    path: &Path,
    met: &mut Protected,
    left: &mut Steps,
) -> Result<Folder, ReadError> {
    let mut resolved = PathBuf::new();
    let here = statat(dir, ".", AtFlags::empty()).map_err(io::Error::from)?;
    let here = id_of(&here);
    let mut folders = Vec::new();
    let mut links = 0;
    let mut rest = steps(path);
    while let Some(step) = rest.pop() {
        left.take()?;
        let Step::Into(name) = step else {
            let is_beneath = matches!(step, Step::Up) && resolved.pop();
            if is_beneath {
                folders.pop();
                continue;
            }
            return Err(ReadError::Outside);
        };
        met.add_name(folders.last().copied().unwrap_or(here), &name);
        let next = resolved.join(name);
        let stat = statat(dir, &next, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from)?;
        met.add(id_of(&stat));
        if SystemType::from_raw_mode(stat.st_mode) != SystemType::Symlink {
            resolved = next;
            folders.push(id_of(&stat));
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(ReadError::Io(io::ErrorKind::TooManyLinks.into()));
        }
        let target = readlinkat(dir, &next, Vec::new()).map_err(io::Error::from)?;
        let target = OsString::from_vec(target.into_bytes());
        rest.extend(steps(Path::new(&target)));
    }
    Ok(Folder {
        path: resolved,
        id: folders.last().copied().unwrap_or(here),
    })
}

/// One step of a path.
enum Step {
    Into(OsString),
    Up,
    Root,
}

/// The steps of a path, the last one first.
fn steps(path: &Path) -> Vec<Step> {
    let step = |component: Component<'_>| match component {
        Component::Normal(name) => Some(Step::Into(name.to_owned())),
        Component::ParentDir => Some(Step::Up),
        Component::CurDir => None,
        Component::RootDir | Component::Prefix(_) => Some(Step::Root),
    };
    path.components().rev().filter_map(step).collect()
}

fn check_is_file(metadata: &Metadata) -> Result<(), ReadError> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(ReadError::NotAFile {
        found: kind_of(metadata.file_type()),
    })
}

fn kind_of(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else if file_type.is_block_device() || file_type.is_char_device() {
        "a device"
    } else {
        "something else"
    }
}

fn id_of(stat: &Stat) -> FileId {
    FileId {
        device: stat.st_dev,
        inode: stat.st_ino,
    }
}

/// The identity of a directory and of every directory above it, to the root. Asks without opening:
/// a folder that may be passed through need not be readable.
pub(super) fn ids_to_the_root(dir: &Dir) -> Result<Vec<FileId>, ReadError> {
    /// More folders than the longest path has.
    const DEPTH_MAX: usize = 4096;

    let mut ids: Vec<FileId> = Vec::new();
    let mut above = PathBuf::from(".");
    while ids.len() < DEPTH_MAX {
        let stat = statat(dir, &above, AtFlags::empty()).map_err(io::Error::from)?;
        let id = id_of(&stat);
        if ids.last() == Some(&id) {
            return Ok(ids);
        }
        ids.push(id);
        above.push("..");
    }
    Err(ReadError::Io(io::ErrorKind::InvalidInput.into()))
}
