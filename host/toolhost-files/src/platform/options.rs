//! How cap-std opens a file.

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_primitives::fs::OpenOptionsExt;
use cap_std::fs::OpenOptions;
use rustix::fs::OFlags;

/// Returns the options for these flags.
pub fn open_options(flags: OFlags) -> OpenOptions {
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
