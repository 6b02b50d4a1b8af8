//! Opens paths beneath a directory, as the kernel resolves them.

use std::fs::File;
use std::io;
use std::sync::OnceLock;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// Most tries: a rename anywhere on this machine disturbs the kernel's walk over a `..`.
const TRIES: usize = 64;

/// Opens what is there; nothing is made. One descriptor is open at a time, whatever the path.
pub(super) fn open_beneath(dir: &Dir, path: &str, flags: OFlags) -> io::Result<File> {
    if !has_openat2() {
        return by_hand(dir, path, flags);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC;
    for _ in 0..TRIES {
        match openat2(dir, path, flags, Mode::empty(), resolve) {
            Ok(opened) => return Ok(opened.into()),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // A way out.
            Err(Errno::XDEV) => return Err(io::ErrorKind::PermissionDenied.into()),
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(Errno::AGAIN.into())
}

/// Whether the kernel, and what filters our system calls, know `openat2`. A filter may answer EPERM.
fn has_openat2() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let tried = openat2(CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::empty());
        let known = !matches!(tried, Err(Errno::NOSYS | Errno::PERM));
        if !known {
            tracing::warn!("this system has no openat2: guests' paths are walked step by step");
        }
        known
    })
}

/// cap-std's own walk, with a descriptor for every folder on the way.
fn by_hand(dir: &Dir, path: &str, flags: OFlags) -> io::Result<File> {
    let access = flags & OFlags::RWMODE;
    let follow = match flags.contains(OFlags::NOFOLLOW) {
        true => FollowSymlinks::No,
        false => FollowSymlinks::Yes,
    };
    let custom = flags - OFlags::RWMODE - OFlags::NOFOLLOW;
    let mut options = OpenOptions::new();
    options
        .read(access != OFlags::WRONLY)
        .write(access != OFlags::RDONLY)
        .custom_flags(i32::try_from(custom.bits()).unwrap_or(0))
        .follow(follow);
    Ok(dir.open_with(path, &options)?.into_std())
}
