//! The identity of a file, from its metadata.

use cap_std::fs::{Metadata, MetadataExt};
use toolhost_contract::FileId;

pub(crate) fn file_id(metadata: &Metadata) -> FileId {
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}
