//! How cap-std opens a file, on Unix.

use std::fs::File;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::OpenOptions;
use toolhost_system::cap::OpenOptionsExt;
use toolhost_system::fs::OFlags;
use toolhost_system::io::Errno;

/// Returns the options for these flags.
pub(crate) fn open_options(flags: OFlags) -> OpenOptions {
    let access = flags & OFlags::RWMODE;
    let follow = if flags.contains(OFlags::NOFOLLOW) {
        FollowSymlinks::No
    } else {
        FollowSymlinks::Yes
    };
    let custom = flags - OFlags::RWMODE - OFlags::NOFOLLOW;
    let mut options = OpenOptions::new();
    options
        .read(access != OFlags::WRONLY)
        .write(access != OFlags::RDONLY)
        .custom_flags(i32::try_from(custom.bits()).unwrap_or(0))
        .follow(follow);
    options
}

/// Checks what was opened: the system has done so.
#[expect(clippy::unnecessary_wraps, reason = "on Windows it may fail")]
pub(crate) fn check_opened(_: &File, _: OFlags) -> Result<(), Errno> {
    Ok(())
}
