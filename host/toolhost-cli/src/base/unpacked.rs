//! The unpacked bundles in the cache, of this release and of others.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::{BASE, FOLDER};
use crate::terminal::progress::folder_bytes;

/// A folder with an unpacked bundle, or what is left of one that was not unpacked to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnpackedBundle {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

/// Lists the unpacked bundles of a cache. Follows no links.
pub(crate) fn list(cache: &Path) -> io::Result<Vec<UnpackedBundle>> {
    let folder = cache.join(FOLDER);
    match fs::symlink_metadata(&folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    }
    let mut bundles = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        if is_ours(&entry)? {
            let path = entry.path();
            let bytes = folder_bytes(&path);
            bundles.push(UnpackedBundle { path, bytes });
        }
    }
    bundles.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(bundles)
}

/// Removes the unpacked bundles of a cache, and returns them. The next use unpacks its own again.
pub(crate) fn clear(cache: &Path) -> io::Result<Vec<UnpackedBundle>> {
    let bundles = list(cache)?;
    for bundle in &bundles {
        match fs::remove_dir_all(&bundle.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(bundles)
}

/// Whether this program writes folders of this name: bundles, and temporary ones.
fn is_ours(entry: &DirEntry) -> io::Result<bool> {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let is_named = name
        .strip_prefix(BASE)
        .is_some_and(|rest| rest.starts_with('-'));
    Ok(entry.file_type()?.is_dir() && (is_named || name.starts_with('.')))
}
