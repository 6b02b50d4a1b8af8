//! What lies in the directories of transactions.

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

/// Makes a directory with mode 0700 unless it exists, and opens it without following a link.
pub(super) fn make_dir(parent: impl AsFd, name: &str) -> Result<Dir, Errno> {
    match mkdirat(&parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => open_dir(parent, name),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory of this name without following a link.
pub(super) fn open_dir(parent: impl AsFd, name: impl Arg) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = openat(parent, name, flags, Mode::empty())?;
    Ok(Dir::from_std_file(dir.into()))
}

/// Removes all that a directory holds, without following links. What lies in directories beneath is moved up
/// first, so that the depth of a tree costs neither stack nor descriptors.
pub(super) fn remove_contents(dir: &Dir) -> Result<(), Errno> {
    let mut moved = 0_u64;
    // Names beneath a directory that were moved up are found by the next round.
    while !names(dir)?.is_empty() {
        for (name, is_dir) in names(dir)? {
            if is_dir {
                remove_dir(dir, &name, &mut moved)?;
            } else {
                unlinkat(dir, &name, AtFlags::empty())?;
            }
        }
    }
    Ok(())
}

/// Removes a directory. The directories in it are moved up and stay.
fn remove_dir(dir: &Dir, name: &CStr, moved: &mut u64) -> Result<(), Errno> {
    if unlinkat(dir, name, AtFlags::REMOVEDIR).is_ok() {
        return Ok(());
    }
    let here = open_dir(dir, name)?;
    for (inner, is_dir) in names(&here)? {
        if !is_dir {
            unlinkat(&here, &inner, AtFlags::empty())?;
            continue;
        }
        loop {
            let free = format!("removed-{moved}");
            *moved += 1;
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(&here, &inner, dir, &free, flags) {
                Err(Errno::EXIST) => {}
                renamed => break renamed?,
            }
        }
    }
    unlinkat(dir, name, AtFlags::REMOVEDIR)
}

/// Whether nothing is in a directory.
pub(super) fn is_empty(dir: &Dir) -> Result<bool, Errno> {
    Ok(names(dir)?.is_empty())
}

/// Returns the names in a directory, and which are directories.
pub(super) fn names(dir: &Dir) -> Result<Vec<(CString, bool)>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            kind = FileType::from_raw_mode(stat.st_mode);
        }
        let is_dir = kind == FileType::Directory;
        names.push((name.to_owned(), is_dir));
    }
    Ok(names)
}
