//! What a file is, whatever its name.

use cap_std::fs::{Metadata, MetadataExt};
use toolhost_contract::FileId;

/// The identity of the file that this metadata describes.
pub(crate) fn file_id(metadata: &Metadata) -> FileId {
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}
