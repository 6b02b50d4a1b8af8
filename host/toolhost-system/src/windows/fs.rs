//! Files and directories.

mod at;
mod dir;
mod ext;
mod flags;
mod handle;
mod link;
mod metadata;
mod open;
mod stat;
mod times;

pub use at::{
    accessat, linkat, mkdirat, openat, readlinkat, renameat, renameat_with, statat, symlinkat,
    unlinkat,
};
pub use dir::{Dir, DirEntry};
pub use ext::{
    DirBuilderExt, FileExt, FileTypeExt, OpenOptionsExt, PermissionsExt, permissions_of, symlink,
};
pub use flags::{Access, AtFlags, FlockOperation, Mode, OFlags, RenameFlags, SeekFrom};
pub use handle::{
    fchmod, fchown, flock, fsync, ftruncate, open_again, path_of, read_link_of, seek,
};
pub use metadata::{
    Metadata, MetadataExt, identity, links, metadata, metadata_of, symlink_metadata,
};
pub use open::{access, open};
pub use stat::{
    FileType, Stat, StatFs, StatVfs, fstat, fstatfs, identity_of, stat, statfs, statvfs,
};
pub use times::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};

pub use super::process::{Gid, Uid};
