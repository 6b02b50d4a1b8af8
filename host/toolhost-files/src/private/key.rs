//! Keys in private files.

use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::OFlags;
use zeroize::Zeroizing;

use super::file::PrivateFile;

/// Bytes of a key.
const KEY_LEN: usize = 32;

/// Reads a key of 32 random bytes from a private file. Makes one where the file is missing, in a directory that must
/// exist; processes that make one at the same time agree on it.
///
/// # Errors
/// Where the file cannot be read or made, or is not private; [`InvalidData`](io::ErrorKind::InvalidData) where it has
/// another length.
pub fn read_or_make_key(path: &Path) -> io::Result<Zeroizing<[u8; KEY_LEN]>> {
    match read_key(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(path)?;
            read_key(path)
        }
        key => key,
    }
}

/// Reads a key of 32 bytes from a private file.
///
/// # Errors
/// As [`read_or_make_key`]; [`NotFound`](io::ErrorKind::NotFound) where the file is missing.
pub fn read_key(path: &Path) -> io::Result<Zeroizing<[u8; KEY_LEN]>> {
    let file = PrivateFile::open(path, OFlags::RDONLY)?;
    let mut key = Zeroizing::new([0; KEY_LEN]);
    if file.metadata()?.len() != KEY_LEN as u64 || (&*file).read_exact(&mut *key).is_err() {
        let text = format!("{} is not a key of {KEY_LEN} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(key)
}

/// Writes a key under a temporary name and renames it, unless another process was first.
fn make(path: &Path) -> io::Result<()> {
    let mut fresh = Zeroizing::new([0; KEY_LEN]);
    getrandom::fill(&mut *fresh).map_err(|error| io::Error::other(error.to_string()))?;
    let dir = path.parent().filter(|dir| *dir != Path::new(""));
    let file = PrivateFile::temporary(dir.unwrap_or(Path::new(".")), &*fresh)?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        Ok(_) | Err(_) => Ok(()),
    }
}
