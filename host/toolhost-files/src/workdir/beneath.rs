//! Opens paths beneath a directory with the kernel's path resolution.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;

use cap_std::fs::Dir;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::error::{FileError, FileResult, of_resolution};
use super::file_system::kernel_file_system;
use crate::platform::{self, PATH_ONLY, Resolve, open_options, path_of, resolve_beneath};

/// Maximum attempts: any rename on this machine makes the kernel give up on a path with `..`.
const ATTEMPTS_MAX: usize = 64;

/// Opens an existing file for nothing but its metadata and its path (`O_PATH`).
///
/// With `O_NOFOLLOW` in `flags` it opens a symlink itself.
pub(crate) fn open_path(dir: &Dir, path: &str, flags: OFlags) -> FileResult<File> {
    open_beneath(dir, path, PATH_ONLY | flags)
}

/// Opens an existing file beneath `dir`. Uses one descriptor, whatever the length of the path. Refuses files of
/// the kernel's own file systems, which may be mounted beneath.
pub(crate) fn open_beneath(dir: &Dir, path: &str, flags: OFlags) -> FileResult<File> {
    if !has_openat2() {
        return not_of_kernel(open_by_component(dir, path, flags)?);
    }
    let within = Resolve {
        no_mounts: true,
        ..Resolve::default()
    };
    match resolve(dir, path, flags, within) {
        Err(Errno::XDEV) => {}
        opened => return Ok(opened?),
    }
    // The path leaves `dir`, or another file system begins on it.
    match resolve(dir, path, flags, Resolve::default()) {
        Err(Errno::XDEV) => Err(FileError::Outside),
        opened => not_of_kernel(opened?),
    }
}

fn resolve(dir: &Dir, path: &str, flags: OFlags, how: Resolve) -> Result<File, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    for _ in 0..ATTEMPTS_MAX {
        match resolve_beneath(dir, path, flags, how) {
            Ok(opened) => return Ok(opened.into()),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::AGAIN)
}

/// Returns the path from a directory to an open file or directory beneath it, as the kernel knows it: without
/// symlinks, and empty for the directory itself. None if it was removed, is not beneath, or is not UTF-8.
pub(crate) fn path_beneath(root: &Dir, file: BorrowedFd<'_>) -> Option<String> {
    let of = |fd: BorrowedFd<'_>| path_of(fd).ok()?.into_string().ok();
    let (root, path) = (of(root.as_fd())?, of(file)?);
    let beneath = path.strip_prefix(&root)?;
    match beneath.strip_prefix('/') {
        Some(beneath) => Some(beneath.to_owned()),
        None => beneath.is_empty().then(String::new),
    }
}

/// Refuses a file of a file system of the kernel.
fn not_of_kernel(file: File) -> FileResult<File> {
    match kernel_file_system(&file)? {
        Some(_) => Err(FileError::Outside),
        None => Ok(file),
    }
}

/// Whether the kernel has `openat2` and no system call filter blocks it; a filter may return EPERM.
pub fn has_openat2() -> bool {
    static HAS_OPENAT2: OnceLock<bool> = OnceLock::new();
    *HAS_OPENAT2.get_or_init(|| {
        let has_it = platform::resolves_beneath();
        if !has_it {
            tracing::warn!("this system has no openat2; guest paths are opened one part at a time");
        }
        has_it
    })
}

/// Opens the path with cap-std, which opens every directory on it.
fn open_by_component(dir: &Dir, path: &str, flags: OFlags) -> FileResult<File> {
    let opened = dir.open_with(path, &open_options(flags));
    Ok(opened.map_err(|error| of_resolution(&error))?.into_std())
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn files_of_the_kernel_beneath_a_directory_are_not_opened() {
        // `proc` and `sys` are mounted beneath it.
        let root = Dir::open_ambient_dir("/", ambient_authority()).unwrap();
        for path in ["proc", "proc/meminfo", "usr/../proc/self/mem", "sys/kernel"] {
            for flags in [OFlags::empty(), OFlags::NOFOLLOW] {
                let opened = open_path(&root, path, flags);
                assert!(
                    matches!(opened, Err(FileError::Outside)),
                    "{path} {flags:?}: {opened:?}"
                );
            }
            let opened = open_by_component(&root, path, PATH_ONLY).and_then(not_of_kernel);
            assert!(
                matches!(opened, Err(FileError::Outside)),
                "{path}: {opened:?}"
            );
        }
        for path in ["usr", "usr/../etc", "etc/passwd", "tmp"] {
            assert!(open_path(&root, path, OFlags::empty()).is_ok(), "{path}");
        }
        let outside = open_path(&root, "../etc", OFlags::empty());
        assert!(matches!(outside, Err(FileError::Outside)), "{outside:?}");
    }
}
