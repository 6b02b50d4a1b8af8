//! The identity of a file, from its metadata.

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Metadata;
use toolhost_contract::FileId;

pub(crate) fn file_id(metadata: &Metadata) -> FileId {
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}
