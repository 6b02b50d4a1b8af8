//! The identity of a file, from its metadata.

use std::os::fd::AsFd;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Metadata;
use rustix::fs::fstat;
use rustix::io::Errno;
use toolhost_contract::FileId;

use crate::platform::device;

/// Returns the identity of the file that the metadata describes.
pub fn file_id(metadata: &Metadata) -> FileId {
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

/// Returns the identity of an open file or directory.
pub(crate) fn id_of(open: impl AsFd) -> Result<FileId, Errno> {
    let stat = fstat(open)?;
    Ok(FileId {
        device: device(&stat),
        inode: stat.st_ino,
    })
}
