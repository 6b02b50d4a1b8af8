//! Replaces files atomically.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes a temporary file and renames it, so that readers see the old or the new content. Follows no
/// links, and keeps the permissions of the file.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let before = fs::symlink_metadata(path).ok();
    let before = before.filter(fs::Metadata::is_file);
    // Of a new file, before the umask.
    let new = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new()
        .prefix(".")
        .suffix(".tmp")
        .permissions(new)
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(before) = before {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_replaced_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, other) = (dir.path().join("a"), dir.path().join("other"));
        fs::write(&other, "other").unwrap();
        replace(&file, b"new").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        replace(&file, b"newer").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"newer");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);

        fs::remove_file(&file).unwrap();
        symlink(&other, &file).unwrap();
        replace(&file, b"newest").unwrap();
        assert!(fs::symlink_metadata(&file).unwrap().is_file());
        assert_eq!(fs::read(&other).unwrap(), b"other");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
