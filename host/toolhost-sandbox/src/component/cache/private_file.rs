//! Directories and files that only this user can write, and the key.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::error::CacheError;

pub(super) fn custom(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
}

/// Makes a directory where it is missing, and checks that only this user can write it.
pub(super) fn private_dir(dir: &Path) -> Result<(), CacheError> {
    let io = |source| CacheError::Io {
        path: dir.to_owned(),
        source,
    };
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(io)?;
    let metadata = fs::metadata(dir).map_err(io)?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !ours || metadata.permissions().mode() & 0o022 != 0 {
        return Err(CacheError::NotPrivate(dir.to_owned()));
    }
    Ok(())
}

/// Reads the key, or makes one. Two processes that make one at the same time agree on it.
pub(super) fn read_or_make_key(path: &Path) -> Result<[u8; blake3::KEY_LEN], CacheError> {
    let io = |source| CacheError::Io {
        path: path.to_owned(),
        source,
    };
    if !path.exists() {
        let mut fresh = [0; blake3::KEY_LEN];
        getrandom::fill(&mut fresh).map_err(|e| io(io::Error::other(e.to_string())))?;
        let temporary = path.with_extension(format!("{}.tmp", random_hex().map_err(io)?));
        write_new(&temporary, &fresh, 0o600).map_err(io)?;
        // The link fails where another process was first. Its key is read below.
        let _ = fs::hard_link(&temporary, path);
        fs::remove_file(&temporary).map_err(io)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(custom(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(path)
        .map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
        return Err(CacheError::NotPrivate(path.to_owned()));
    }
    let mut key = [0; blake3::KEY_LEN];
    let whole = metadata.len() == key.len() as u64;
    if !whole || file.read_exact(&mut key).is_err() {
        return Err(CacheError::BadKey(path.to_owned()));
    }
    Ok(key)
}

/// Returns 16 random hexadecimal digits.
pub(super) fn random_hex() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(format!("{:016x}", u64::from_le_bytes(random)))
}

pub(super) fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}
