//! Converts the attributes of files between the system's types and WASI's.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Metadata;
use rustix::fs::{FileType, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::io::Errno;
use toolhost_contract::FileId;
use toolhost_files::platform;

use crate::host::bindings::filesystem::types::{
    Datetime, DescriptorStat, DescriptorType, MetadataHashValue, NewTimestamp,
};

pub(super) fn stat(metadata: &Metadata, links: u64) -> DescriptorStat {
    DescriptorStat {
        type_: descriptor_type(platform::file_type(metadata.mode())),
        link_count: links,
        size: metadata.len(),
        data_access_timestamp: datetime(metadata.atime(), metadata.atime_nsec()),
        data_modification_timestamp: datetime(metadata.mtime(), metadata.mtime_nsec()),
        status_change_timestamp: datetime(metadata.ctime(), metadata.ctime_nsec()),
    }
}

pub(super) fn descriptor_type(file_type: FileType) -> DescriptorType {
    match file_type {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}

/// None before 1970, which WASI cannot express.
fn datetime(seconds: i64, nanoseconds: i64) -> Option<Datetime> {
    Some(Datetime {
        seconds: seconds.try_into().ok()?,
        nanoseconds: nanoseconds.try_into().ok()?,
    })
}

/// Hashes what differs between states of a file, with a key of this process: a guest can learn
/// neither the device nor the inode by trying all values.
pub(super) fn metadata_hash(id: FileId, metadata: &Metadata) -> MetadataHashValue {
    static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
    keyed_hash(id, metadata, &KEYS)
}

fn keyed_hash(id: FileId, metadata: &Metadata, keys: &[RandomState; 2]) -> MetadataHashValue {
    let [lower, upper] = keys.each_ref().map(|key| {
        let id = (id.device, id.inode, metadata.len());
        key.hash_one((id, metadata.mtime(), metadata.mtime_nsec()))
    });
    MetadataHashValue { lower, upper }
}

/// Converts the two times that a guest sets.
///
/// # Errors
/// `EOVERFLOW` beyond the system's range, `EINVAL` from a second of nanoseconds on.
pub(super) fn timestamps(
    accessed: NewTimestamp,
    modified: NewTimestamp,
) -> Result<Timestamps, Errno> {
    Ok(Timestamps {
        last_access: timespec(accessed)?,
        last_modification: timespec(modified)?,
    })
}

fn timespec(time: NewTimestamp) -> Result<Timespec, Errno> {
    let (tv_sec, tv_nsec) = match time {
        NewTimestamp::NoChange => (0, UTIME_OMIT),
        NewTimestamp::Now => (0, UTIME_NOW),
        NewTimestamp::Timestamp(time) if time.nanoseconds >= 1_000_000_000 => {
            return Err(Errno::INVAL);
        }
        NewTimestamp::Timestamp(time) => {
            let seconds = time.seconds.try_into().map_err(|_| Errno::OVERFLOW)?;
            (seconds, time.nanoseconds.into())
        }
    };
    Ok(Timespec { tv_sec, tv_nsec })
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_files::file_id;

    #[test]
    fn a_metadata_hash_depends_on_the_key() {
        let file = tempfile::tempfile().unwrap();
        let metadata = Metadata::from_file(&file).unwrap();
        let halves = |hash: MetadataHashValue| (hash.lower, hash.upper);
        let id = file_id(&metadata);
        let hash = |keys| halves(keyed_hash(id, &metadata, keys));
        let (one, other): ([RandomState; 2], [RandomState; 2]) = Default::default();
        assert_eq!(hash(&one), hash(&one));
        assert_ne!(hash(&one), hash(&other));
        assert_eq!(
            halves(metadata_hash(id, &metadata)),
            halves(metadata_hash(id, &metadata))
        );
    }
}
