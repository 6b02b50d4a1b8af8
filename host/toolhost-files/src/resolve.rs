//! Looks up the folders and links on a path beneath a directory.
//!
//! `..`, absolute paths and links that leave the directory are refused.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Stat, readlinkat, statat};
use toolhost_contract::{FileId, Protected};

use crate::error::{EntryKind, ReadError};
use crate::platform::device;

/// Maximum number of symbolic links on a path, as in the kernel.
const LINKS_MAX: usize = 40;

/// Maximum number of components of a path, with those of the links on it.
pub const STEPS_MAX: usize = 256;

/// Whether links on a path are followed, within the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// They are followed.
    Follow,
    /// The path has none.
    Refuse,
}

/// A folder beneath a directory.
#[derive(Debug)]
pub struct Folder {
    /// The path without links.
    pub path: PathBuf,
    /// Its identity.
    pub id: FileId,
}

/// Looks up a name in a folder; if it is a link, also the path that it names. Adds the same to `protected` as
/// [`resolve`].
pub fn name_beneath(
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
        resolve(dir, &path, Links::Follow, protected, steps)?;
    }
    Ok(())
}

/// Resolves a path beneath `dir`, following symbolic links within it, or refusing them. Adds the folders and links on the
/// path to `protected`, with their names. After an error, it has those before the missing one, and its
/// name. `steps` is the number of path components and links that may still be looked up.
///
/// Opens nothing, so that it needs no file descriptor. If the path is changed meanwhile, files outside
/// may be looked up, but they are never opened, as files are opened beneath `dir` alone.
pub fn resolve(
    dir: &Dir,
    path: &Path,
    links: Links,
    protected: &mut Protected,
    steps: &mut usize,
) -> Result<Folder, ReadError> {
    let mut resolved = PathBuf::new();
    let top = id_of(&statat(dir, ".", AtFlags::empty())?);
    let mut folders = Vec::new();
    let mut followed = 0;
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
        if links == Links::Refuse {
            return Err(ReadError::Link { path: next });
        }
        followed += 1;
        if followed > LINKS_MAX {
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

/// Counts a step of a lookup.
///
/// # Errors
/// [`ReadError::TooFar`] where none is left.
pub fn take_step(steps: &mut usize) -> Result<(), ReadError> {
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
    EntryKind::of(stat) == EntryKind::Link
}

fn id_of(stat: &Stat) -> FileId {
    FileId {
        device: device(stat),
        inode: stat.st_ino,
    }
}

/// Returns the identities of a directory and of all directories above it. Opens none of them, as the host
/// may lack the permission to read them.
pub fn ids_to_the_root(dir: &Dir) -> Result<Vec<FileId>, ReadError> {
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
