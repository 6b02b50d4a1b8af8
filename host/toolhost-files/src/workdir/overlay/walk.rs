//! Resolves paths in the merged view, one name after another, as the kernel does with `RESOLVE_BENEATH`.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use cap_std::fs::{Dir, Metadata};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::lookup::Child;
use super::view::Overlay;
use crate::platform::{PATH_ONLY, read_link_of};
use crate::workdir::entry::{Entry, MergedPlace, NameIn};
use crate::workdir::error::{FileError, FileResult};
use crate::workdir::identity::id_of;

/// Maximum symlinks followed on a path: the kernel's own limit.
const LINKS_MAX: usize = 40;

/// Bytes of a path from which on the kernel refuses it.
const PATH_MAX: usize = 4096;

/// Maximum directories on a path that were moved, or made in a directory of the lower layer: each is held open
/// during the walk.
const REDIRECTS_MAX: usize = 64;

/// A directory on the path.
struct Here {
    /// None for the start, and for one that `..` of the next directory leads to.
    handle: Option<File>,
    id: FileId,
}

struct Walker<'a> {
    start: &'a Dir,
    here: Here,
    above: Vec<Here>,
    redirects: usize,
}

impl Walker<'_> {
    fn dir(&self) -> BorrowedFd<'_> {
        match &self.here.handle {
            Some(handle) => handle.as_fd(),
            None => self.start.as_fd(),
        }
    }

    fn down(&mut self, child: Child) -> FileResult<()> {
        if child.is_redirect {
            self.redirects += 1;
            if self.redirects > REDIRECTS_MAX {
                return Err(Errno::LOOP.into());
            }
        }
        let next = Here {
            id: child.id(),
            handle: Some(child.handle),
        };
        let mut left = std::mem::replace(&mut self.here, next);
        if !child.is_redirect {
            left.handle = None;
        }
        self.above.push(left);
        Ok(())
    }

    fn up(&mut self) -> FileResult<()> {
        let mut above = self.above.pop().ok_or(FileError::Outside)?;
        if above.handle.is_none() && !self.above.is_empty() {
            let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened: File = rustix::fs::openat(self.dir(), "..", flags, Mode::empty())?.into();
            // Another program has moved the directory meanwhile, maybe out of the workdir.
            if id_of(&opened)? != above.id {
                return Err(Errno::AGAIN.into());
            }
            above.handle = Some(opened);
        }
        self.here = above;
        Ok(())
    }

    fn into_handle(self) -> Result<File, Errno> {
        match self.here.handle {
            Some(handle) => Ok(handle),
            None => {
                let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                Ok(rustix::fs::openat(self.start, ".", flags, Mode::empty())?.into())
            }
        }
    }
}

/// Pushes the names of a path, the first one last.
fn push_names(path: &[u8], rest: &mut Vec<Vec<u8>>) {
    let names = path.split(|byte| *byte == b'/').rev();
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    rest.extend(names.map(<[u8]>::to_vec));
}

/// Whether a path leads to a directory, or nowhere: its last symlink is followed.
fn is_of_dir(path: &[u8]) -> bool {
    path.ends_with(b"/") || path.ends_with(b"/.") || path == b"."
}

impl Overlay {
    /// Resolves a path in the merged view, as `open` with `O_PATH` does. With `O_NOFOLLOW` in `flags` a last
    /// symlink is not followed; with `O_DIRECTORY` only directories are found.
    pub(crate) fn find(&self, start: &Dir, path: &str, flags: OFlags) -> FileResult<Entry> {
        let state = self.lock()?;
        if path.is_empty() {
            return Err(Errno::NOENT.into());
        }
        if path.len() >= PATH_MAX {
            return Err(Errno::NAMETOOLONG.into());
        }
        if path.starts_with('/') {
            return Err(FileError::Outside);
        }
        let here = Here {
            handle: None,
            id: id_of(start)?,
        };
        let mut walker = Walker {
            start,
            here,
            above: Vec::new(),
            redirects: 0,
        };
        let (mut rest, mut links, mut was_link) = (Vec::new(), 0, false);
        let mut is_dir = is_of_dir(path.as_bytes());
        push_names(path.as_bytes(), &mut rest);
        while let Some(name) = rest.pop() {
            if name == b".." {
                walker.up()?;
                continue;
            }
            let child = self.child(&state, walker.dir(), walker.here.id, &name)?;
            let is_last = rest.is_empty();
            let follows = !is_last || is_dir || !flags.contains(OFlags::NOFOLLOW);
            if child.metadata.is_symlink() && follows {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                let target = read_link_of(&child.handle)?;
                let target = target.as_bytes();
                if target.starts_with(b"/") {
                    return Err(FileError::Outside);
                }
                was_link |= is_last;
                is_dir |= is_last && is_of_dir(target);
                push_names(target, &mut rest);
                continue;
            }
            if is_last && !is_dir {
                return last(child, walker.here.id, &name, was_link, flags);
            }
            if !child.metadata.is_dir() {
                return Err(Errno::NOTDIR.into());
            }
            walker.down(child)?;
        }
        let is_staged = state.is_staged(walker.here.id);
        let handle = walker.into_handle()?;
        Ok(Entry {
            metadata: Metadata::from_file(&handle)?,
            handle,
            was_link,
            place: Some(MergedPlace {
                is_staged,
                home: None,
            }),
        })
    }
}

fn last(
    child: Child,
    dir: FileId,
    name: &[u8],
    was_link: bool,
    flags: OFlags,
) -> FileResult<Entry> {
    if flags.contains(OFlags::DIRECTORY) && !child.metadata.is_dir() {
        return Err(Errno::NOTDIR.into());
    }
    let name = String::from_utf8(name.to_vec()).ok();
    Ok(Entry {
        handle: child.handle,
        metadata: child.metadata,
        was_link,
        place: Some(MergedPlace {
            is_staged: child.is_staged,
            home: name.map(|name| NameIn { dir, name }),
        }),
    })
}
