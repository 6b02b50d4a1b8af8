//! How cap-std opens a file, on Windows.

use std::fs::File;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsMaybeDirExt};
use cap_std::fs::{OpenOptions, OpenOptionsExt};
use toolhost_system::fs::OFlags;
use toolhost_system::io::Errno;

/// `FILE_READ_ATTRIBUTES`.
const READ_ATTRIBUTES: u32 = 0x80;

/// `FILE_FLAG_BACKUP_SEMANTICS`: opens directories, too.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;

/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself.
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// Returns the options for these flags. A directory that is asked for keeps its path while it is open.
pub(crate) fn open_options(flags: OFlags) -> OpenOptions {
    let access = flags & OFlags::RWMODE;
    let nofollow = flags.contains(OFlags::NOFOLLOW);
    let mut options = OpenOptions::new();
    options.follow(if nofollow {
        FollowSymlinks::No
    } else {
        FollowSymlinks::Yes
    });
    if flags.contains(OFlags::DIRECTORY) {
        options.read(true).maybe_dir(true);
    } else if flags.contains(OFlags::PATH) {
        let link = if nofollow { OPEN_REPARSE_POINT } else { 0 };
        options
            .access_mode(READ_ATTRIBUTES)
            .custom_flags(BACKUP_SEMANTICS | link);
    } else {
        options
            .read(access != OFlags::WRONLY)
            .write(access != OFlags::RDONLY);
    }
    options
}

/// Checks what was opened, as cap-std does not ask for a directory.
pub(crate) fn check_opened(opened: &File, flags: OFlags) -> Result<(), Errno> {
    let found = opened.metadata().map_err(|_| Errno::IO)?;
    if flags.contains(OFlags::DIRECTORY) && !found.is_dir() {
        Err(Errno::NOTDIR)
    } else {
        Ok(())
    }
}
