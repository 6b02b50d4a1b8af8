//! The identity of a file, from its metadata.

use cap_std::fs::Metadata;
use toolhost_contract::FileId;
use toolhost_system::cap::MetadataExt;

pub(crate) fn file_id(metadata: &Metadata) -> FileId {
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}
