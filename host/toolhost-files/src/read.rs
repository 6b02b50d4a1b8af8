//! Reads regular files of a bounded size.
//!
//! An entry is looked at before it is opened, and opening it never waits: named pipes, sockets and devices are refused.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_primitives::fs::OpenOptionsExt;
use cap_std::fs::{Dir, OpenOptions};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, open, statat};
use toolhost_contract::Protected;

use crate::error::{EntryKind, ReadError};
use crate::resolve::{Links, STEPS_MAX, resolve};

/// Bytes of a file from which two threads read it.
const LARGE: u64 = 1 << 20;

/// Reads a regular file of at most `max` bytes beneath `dir`.
///
/// # Errors
/// [`ReadError`].
pub fn read_beneath(dir: &Dir, path: &Path, links: Links, max: u64) -> Result<Vec<u8>, ReadError> {
    let mut steps = STEPS_MAX;
    let path = resolve(dir, path, links, &mut Protected::default(), &mut steps)?.path;
    read_resolved(dir, &path, max)
}

/// Reads a file beneath `dir`. `path` has no links.
pub(crate) fn read_resolved(dir: &Dir, path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    let path = in_dir(path);
    check_is_file(&statat(dir, path, AtFlags::SYMLINK_NOFOLLOW)?)?;
    // What has replaced the file since is neither followed nor waited for.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(flags)
        .follow(FollowSymlinks::No);
    read_open(dir.open_with(path, &options)?.into_std(), max)
}

/// Reads a regular file of at most `max` bytes that an operator names, wherever its path leads.
///
/// # Errors
/// [`ReadError`].
pub fn read_named(path: &Path, links: Links, max: u64) -> Result<Vec<u8>, ReadError> {
    let (at, flags) = match links {
        Links::Follow => (AtFlags::empty(), OFlags::empty()),
        Links::Refuse => (AtFlags::SYMLINK_NOFOLLOW, OFlags::NOFOLLOW),
    };
    check_is_file(&statat(CWD, path, at)?)?;
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    read_open(open(path, flags, Mode::empty())?.into(), max)
}

/// Returns a path that names the directory itself where it is empty.
pub(crate) fn in_dir(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

fn read_open(file: File, max: u64) -> Result<Vec<u8>, ReadError> {
    let stat = fstat(&file)?;
    check_is_file(&stat)?;
    let too_large = |bytes| Err(ReadError::TooLarge { max, bytes });
    let len = u64::try_from(stat.st_size).unwrap_or_default();
    if len > max {
        return too_large(len);
    }
    let bytes = read_whole(file, len, max)?;
    let read = bytes.len() as u64;
    if read > max {
        too_large(read)
    } else {
        Ok(bytes)
    }
}

fn check_is_file(stat: &Stat) -> Result<(), ReadError> {
    let kind = EntryKind::of(stat);
    if kind == EntryKind::File {
        Ok(())
    } else {
        Err(ReadError::NotAFile { kind })
    }
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
