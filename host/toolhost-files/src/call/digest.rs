//! Digests of the files that a call changed.

use std::fs::File;
use std::io::{ErrorKind, Read};

use cap_std::fs::{Dir, Metadata};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use toolhost_contract::FileDigest;

use super::meter::FileMeter;
use crate::accounting::file_changes::DIGESTED_MAX;
use crate::platform::KEEP_ACCESS_TIME;
use crate::workdir::{Tree, file_id, open_beneath};

/// Bytes that are read before other tasks of the thread run.
const CHUNK: usize = 256 << 10;

/// Adds the digests of the files that a call changed in place. Reads nothing if it changed none.
pub async fn digest_changes(root: &Dir, meter: &FileMeter) {
    let mut left = DIGESTED_MAX;
    for path in meter.changes.to_digest() {
        let Some((mut file, bytes)) = open_file(root, &path) else {
            continue;
        };
        if bytes > left {
            continue;
        }
        if let Some(digest) = digest(&mut file, bytes, &mut left).await {
            meter.changes.set_digest(&path, digest);
        }
    }
}

/// Opens a regular file, and returns its size. Opens nothing else, not even for a moment.
fn open_file(root: &Dir, path: &str) -> Option<(File, u64)> {
    let entry = Tree::Direct.find(root, path, OFlags::NOFOLLOW).ok()?;
    if !entry.metadata.is_file() {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    // Without a change of the time of access, which the call may have set. The system refuses that for files of others.
    let file = open_beneath(root, path, flags | KEEP_ACCESS_TIME);
    let file = file.or_else(|_| open_beneath(root, path, flags)).ok()?;
    let metadata = Metadata::from_file(&file).ok()?;
    let is_same = file_id(&metadata) == entry.file_id();
    is_same.then(|| (file, metadata.len()))
}

/// Returns the digest of a file. None if it cannot be read, or has more bytes than are left.
async fn digest(file: &mut File, bytes: u64, left: &mut u64) -> Option<FileDigest> {
    let mut hash = Sha256::new();
    // One byte more, so that the end of a small file is found with the second read.
    let bytes = usize::try_from(bytes).unwrap_or(CHUNK).saturating_add(1);
    let mut buffer = vec![0; bytes.min(CHUNK)];
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => return Some(FileDigest::from_sha256(hash.finalize().into())),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        *left = left.checked_sub(read as u64)?;
        hash.update(buffer.get(..read)?);
        if read == CHUNK {
            tokio::task::yield_now().await;
        }
    }
}
