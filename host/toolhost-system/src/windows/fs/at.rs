//! Calls that take a directory and a name in it.

use std::ffi::CString;
use std::fs;
use std::os::windows::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};

use super::flags::{Access, AtFlags, Mode, OFlags, RenameFlags};
use super::handle::path_of;
use super::link::target_of;
use super::open::{Wanted, access as access_path, open_for, open_path};
use super::stat::{Stat, fstat};
use crate::name::Relative;
use crate::windows::fd::{AsFd, OwnedFd};
use crate::windows::io::{Errno, Result};
use crate::windows::path::Arg;

/// A name in an open directory, as a path.
struct Place {
    path: PathBuf,
    /// Whether a slash follows the name, which is then that of a directory.
    has_slash: bool,
}

impl Place {
    /// Returns the path of a name, or of the directory itself or one above it.
    ///
    /// # Errors
    /// `INVAL` for a path of several names, or a name that Windows does not take as it is.
    fn of(dir: impl AsFd, name: impl Arg) -> Result<Self> {
        let name = name.as_path()?;
        let place = Self::beneath(dir, &name)?;
        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
        match name.components().filter(is_name).count() {
            0 | 1 => Ok(place),
            _ => Err(Errno::INVAL),
        }
    }

    /// Returns the path of a name that is about to be made, moved or removed: neither the directory itself, nor one above
    /// it.
    ///
    /// # Errors
    /// `INVAL` for anything but one name that Windows takes as it is.
    fn of_entry(dir: impl AsFd, name: impl Arg) -> Result<Self> {
        let name = name.as_path()?;
        match name.components().collect::<Vec<_>>().as_slice() {
            [Component::Normal(_)] => Self::beneath(dir, &name),
            _ => Err(Errno::INVAL),
        }
    }

    /// Returns the path of any relative path.
    fn beneath(dir: impl AsFd, name: &Path) -> Result<Self> {
        let relative = Relative::parse(name)?;
        let mut path = path_of(dir)?;
        for _ in 0..relative.ups {
            // At the root, it stays there.
            path.pop();
        }
        path.push(&relative.names);
        let bytes = name.as_os_str().as_encoded_bytes();
        Ok(Self {
            path,
            has_slash: bytes.ends_with(b"/") || bytes.ends_with(b"\\"),
        })
    }

    /// Refuses a slash behind the name of anything but a directory.
    fn check_slash(&self) -> Result<()> {
        if self.has_slash && !fs::symlink_metadata(&self.path)?.is_dir() {
            Err(Errno::NOTDIR)
        } else {
            Ok(())
        }
    }
}

/// Opens a name in a directory.
///
/// # Errors
/// As [`open`](super::open), and `INVAL` for a name that Windows does not take as it is.
pub fn openat(dir: impl AsFd, name: impl Arg, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    let creates = flags.contains(OFlags::CREATE);
    let place = if creates {
        Place::of_entry(dir, name)?
    } else {
        Place::of(dir, name)?
    };
    match (place.has_slash, creates) {
        (true, true) => Err(Errno::ISDIR),
        (true, false) => open_path(&place.path, flags | OFlags::DIRECTORY, mode),
        (false, _) => open_path(&place.path, flags, mode),
    }
}

/// Returns what the system knows of what is at a relative path.
///
/// # Errors
/// `INVAL` for a name that Windows does not take as it is, and errors of the system.
pub fn statat(dir: impl AsFd, path: impl Arg, flags: AtFlags) -> Result<Stat> {
    let wanted = if flags.contains(AtFlags::SYMLINK_NOFOLLOW) {
        Wanted::OwnMetadata
    } else {
        Wanted::Metadata
    };
    let place = Place::beneath(dir, &path.as_path()?)?;
    fstat(open_for(&place.path, wanted)?)
}

/// Creates a directory.
///
/// # Errors
/// `INVAL` for a name that Windows does not take as it is, and errors of the system.
pub fn mkdirat(dir: impl AsFd, name: impl Arg, _: Mode) -> Result<()> {
    Ok(fs::create_dir(Place::of_entry(dir, name)?.path)?)
}

/// Removes a name: of a directory with `REMOVEDIR`, and of anything else without it.
///
/// # Errors
/// `INVAL` for a name that Windows does not take as it is, and errors of the system.
pub fn unlinkat(dir: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<()> {
    let place = Place::of_entry(dir, name)?;
    let kind = fs::symlink_metadata(&place.path)?.file_type();
    match (flags.contains(AtFlags::REMOVEDIR), kind.is_dir()) {
        (true, true) => Ok(fs::remove_dir(place.path)?),
        (true, false) => Err(Errno::NOTDIR),
        (false, true) => Err(Errno::ISDIR),
        (false, false) => {
            place.check_slash()?;
            // A link to a directory is removed as one; its target stays.
            if kind.is_symlink_dir() {
                Ok(fs::remove_dir(place.path)?)
            } else {
                Ok(fs::remove_file(place.path)?)
            }
        }
    }
}

/// Gives an entry another name, in the place of what has it.
///
/// # Errors
/// `INVAL` for a name that Windows does not take as it is, and errors of the system.
pub fn renameat(
    dir: impl AsFd,
    name: impl Arg,
    new_dir: impl AsFd,
    new_name: impl Arg,
) -> Result<()> {
    let (from, to) = (
        Place::of_entry(dir, name)?,
        Place::of_entry(new_dir, new_name)?,
    );
    from.check_slash()?;
    let moved = fs::symlink_metadata(&from.path)?;
    match fs::symlink_metadata(&to.path) {
        Ok(replaced) if replaced.is_dir() && !moved.is_dir() => return Err(Errno::ISDIR),
        Ok(replaced) if moved.is_dir() && !replaced.is_dir() => return Err(Errno::NOTDIR),
        Ok(_) => {}
        Err(_) if to.has_slash && !moved.is_dir() => return Err(Errno::NOTDIR),
        Err(_) => {}
    }
    Ok(fs::rename(from.path, to.path)?)
}

/// Gives a file a free name. It has both names for a moment. Directories cannot be renamed so, and nothing can be
/// exchanged.
///
/// # Errors
/// `NOSYS` for a directory and with `EXCHANGE`, `EXIST` if the name is not free.
pub fn renameat_with(
    dir: impl AsFd,
    name: impl Arg,
    new_dir: impl AsFd,
    new_name: impl Arg,
    flags: RenameFlags,
) -> Result<()> {
    if flags.is_empty() {
        return renameat(dir, name, new_dir, new_name);
    }
    let (from, to) = (
        Place::of_entry(dir, name)?,
        Place::of_entry(new_dir, new_name)?,
    );
    let is_file = fs::symlink_metadata(&from.path)?.is_file();
    if flags != RenameFlags::NOREPLACE || !is_file || from.has_slash || to.has_slash {
        return Err(Errno::NOSYS);
    }
    fs::hard_link(&from.path, &to.path)?;
    if let Err(error) = fs::remove_file(&from.path) {
        let _ = fs::remove_file(&to.path);
        return Err(error.into());
    }
    Ok(())
}

/// Gives a file a second name.
///
/// # Errors
/// `INVAL` for a name that Windows does not take as it is, `LOOP` for a link, and errors of the system.
pub fn linkat(
    dir: impl AsFd,
    name: impl Arg,
    new_dir: impl AsFd,
    new_name: impl Arg,
    _: AtFlags,
) -> Result<()> {
    let (from, to) = (
        Place::of_entry(dir, name)?,
        Place::of_entry(new_dir, new_name)?,
    );
    if from.has_slash || to.has_slash {
        return Err(Errno::NOTDIR);
    }
    if fs::symlink_metadata(&from.path)?.is_symlink() {
        return Err(Errno::LOOP);
    }
    Ok(fs::hard_link(from.path, to.path)?)
}

/// Creates a symbolic link: that is a privilege, and the type of its target would have to be known.
///
/// # Errors
/// `NOTSUP`.
pub fn symlinkat(_: impl Arg, _: impl AsFd, _: impl Arg) -> Result<()> {
    Err(Errno::NOTSUP)
}

/// Returns the target of a symbolic link, with `/` between its names.
///
/// # Errors
/// `PERM` for a target that is not relative, `ILSEQ` for one that is not Unicode, `INVAL` for other files than links.
pub fn readlinkat(dir: impl AsFd, path: impl Arg, _: Vec<u8>) -> Result<CString> {
    let place = Place::beneath(dir, &path.as_path()?)?;
    target_of(&fs::read_link(place.path)?)
}

/// Whether this process may use an entry in this way, as [`access`](super::access).
///
/// # Errors
/// `ACCESS`, and errors of the system.
pub fn accessat(dir: impl AsFd, name: impl Arg, access: Access, _: AtFlags) -> Result<()> {
    access_path(&Place::of(dir, name)?.path, access)
}
