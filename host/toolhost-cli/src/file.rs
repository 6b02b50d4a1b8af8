//! Files that are replaced as a whole.

use std::fs;
use std::io;
use std::path::Path;

/// Writes beside the file and renames: whoever reads it meanwhile sees the old or the new, and a link
/// is replaced, not followed. Who may read it stays as it is.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = fs::write(&unfinished, bytes)
        .and_then(|()| match fs::symlink_metadata(path) {
            Ok(before) if before.is_file() => {
                fs::set_permissions(&unfinished, before.permissions())
            }
            _ => Ok(()),
        })
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}
