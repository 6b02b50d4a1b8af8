//! Directories and files of a state root: owned by this user, writable by nobody else, and no links.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Permission bits with which the group or others can write.
const WRITABLE: u32 = 0o022;

/// Why a directory or a file in a state root is not used. Nothing is read from it or written to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotPrivate {
    /// Links in a state root are not followed.
    #[error("{} is a symbolic link: remove it with `rm {}`", .0.display(), quoted(.0))]
    Link(PathBuf),
    /// Something else is in the place of a directory.
    #[error("{} is not a directory: move it away", .0.display())]
    NotADirectory(PathBuf),
    /// Something else is in the place of a file.
    #[error("{} is not a regular file: move it away", .0.display())]
    NotAFile(PathBuf),
    /// It belongs to another user.
    #[error(
        "{} belongs to user {owner}, and this process runs as user {user}: \
         run `sudo chown -R {user} {}`",
        .path.display(),
        quoted(.path)
    )]
    OtherOwner {
        /// The directory or the file.
        path: PathBuf,
        /// Id of its owner.
        owner: u32,
        /// Id of the user of this process.
        user: u32,
    },
    /// The group or others can write it.
    #[error(
        "other users can write {} (mode {mode:04o}): run `chmod go-w {}`",
        .path.display(),
        quoted(.path)
    )]
    Writable {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

impl From<NotPrivate> for io::Error {
    fn from(error: NotPrivate) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, error)
    }
}

/// Returns a path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// Makes a state root, and the directories above it where they are missing, with mode 0700. The path itself
/// may be a link.
///
/// # Errors
/// Where the file system refuses; [`NotPrivate`] as the source of a
/// [`PermissionDenied`](io::ErrorKind::PermissionDenied) where another user owns the directory or can write
/// it.
pub fn make_private(root: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    Ok(check_dir(root, &fs::metadata(root)?)?)
}

/// Makes a directory beneath a state root, and those between them, with mode 0700. None of them may be a
/// link.
///
/// # Errors
/// As [`make_private`]; [`InvalidInput`](io::ErrorKind::InvalidInput) where `dir` does not lie beneath
/// `root`.
pub fn make_private_beneath(root: &Path, dir: &Path) -> io::Result<()> {
    make_private(root)?;
    each_beneath(root, dir, |path| {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(check_dir(path, &fs::symlink_metadata(path)?)?)
            }
            made => made,
        }
    })
}

/// Checks a directory beneath a state root that must exist, as [`make_private_beneath`] does.
///
/// # Errors
/// As [`make_private_beneath`]; [`NotFound`](io::ErrorKind::NotFound) where a directory is missing.
pub fn check_private_beneath(root: &Path, dir: &Path) -> io::Result<()> {
    check_dir(root, &fs::metadata(root)?)?;
    each_beneath(root, dir, |path| {
        Ok(check_dir(path, &fs::symlink_metadata(path)?)?)
    })
}

/// Calls `each` with the directories between `root` and `dir`, and with `dir`.
fn each_beneath(root: &Path, dir: &Path, each: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let beneath = dir.strip_prefix(root);
    let beneath = beneath.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut path = root.to_owned();
    for part in beneath.components() {
        let Component::Normal(name) = part else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        path.push(name);
        each(&path)?;
    }
    Ok(())
}

fn check_dir(path: &Path, found: &Metadata) -> Result<(), NotPrivate> {
    if found.is_symlink() {
        return Err(NotPrivate::Link(path.to_owned()));
    }
    if !found.is_dir() {
        return Err(NotPrivate::NotADirectory(path.to_owned()));
    }
    check_owner(path, found)?;
    match found.mode() & WRITABLE {
        0 => Ok(()),
        _ => Err(NotPrivate::Writable {
            path: path.to_owned(),
            mode: found.mode() & 0o7777,
        }),
    }
}

fn check_owner(path: &Path, found: &Metadata) -> Result<(), NotPrivate> {
    let (owner, user) = (found.uid(), rustix::process::geteuid().as_raw());
    if owner == user {
        Ok(())
    } else {
        Err(NotPrivate::OtherOwner {
            path: path.to_owned(),
            owner,
            user,
        })
    }
}

/// Looks at a file in a private directory. None where it is missing.
///
/// # Errors
/// [`NotPrivate`] where it is a link, not a regular file, or belongs to another user.
pub(crate) fn own_file(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) => check_file(path, &found).map(|()| Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a file in a private directory to be read. Follows no link, and does not wait for the other end of
/// a pipe.
///
/// # Errors
/// As [`own_file`].
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    // The kernel reports a link as a loop.
    own_file(path)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    check_file(path, &file.metadata()?)?;
    Ok(file)
}

fn check_file(path: &Path, found: &Metadata) -> io::Result<()> {
    if found.is_symlink() {
        return Err(NotPrivate::Link(path.to_owned()).into());
    }
    if !found.is_file() {
        return Err(NotPrivate::NotAFile(path.to_owned()).into());
    }
    Ok(check_owner(path, found)?)
}

#[cfg(test)]
mod tests;
