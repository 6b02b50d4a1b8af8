//! Reads, replaces and locks files. Reads take at most a given number of bytes, and Ctrl-C still works
//! while one blocks.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::OFlags;
use tempfile::NamedTempFile;
use toolhost_files::{Links, ReadError, read_named};

/// Reads a file of at most `max` bytes. `what` names it in errors.
pub(crate) async fn read_async(what: &'static str, path: &Path, max: u64) -> Result<Vec<u8>> {
    let path = path.to_owned();
    spawn_blocking(move || read(what, &path, max)).await
}

/// Reads a text file of at most `max` bytes.
pub(crate) async fn text_file(what: &'static str, path: &Path, max: u64) -> Result<String> {
    let bytes = read_async(what, path, max).await?;
    String::from_utf8(bytes).with_context(|| format!("{what} {} is not UTF-8 text", path.display()))
}

/// Reads stdin to its end, at most `max` bytes of text.
pub(crate) async fn stdin(max: u64) -> Result<String> {
    let read = move || bounded(std::io::stdin().lock(), max).context("stdin cannot be read");
    String::from_utf8(spawn_blocking(read).await?).context("stdin is not UTF-8 text")
}

/// Reads a file of at most `max` bytes on this thread. Refuses a named pipe, which might block for ever; the pipes
/// of a shell's `<(…)` lie in `/dev` or `/proc`.
pub(crate) fn read(what: &str, path: &Path, max: u64) -> Result<Vec<u8>> {
    if ["/dev", "/proc"].iter().any(|dir| path.starts_with(dir)) {
        return read_or_wait(what, path, max);
    }
    let name = path.display();
    match read_named(path, Links::Follow, max) {
        Err(ReadError::NotAFile { kind }) => bail!("{what} {name} is {kind}, not a file"),
        read => read.with_context(|| format!("{what} {name} cannot be read")),
    }
}

/// Reads a file or a pipe of at most `max` bytes on this thread. Waits for the writer of a pipe.
pub(crate) fn read_or_wait(what: &str, path: &Path, max: u64) -> Result<Vec<u8>> {
    let read = File::open(path)
        .map_err(Into::into)
        .and_then(|file| bounded(file, max));
    read.with_context(|| format!("{what} {} cannot be read", path.display()))
}

fn bounded(source: impl Read, max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= max, "it holds more than {max} bytes");
    Ok(bytes)
}

/// Runs work that may block for ever, such as a read from a terminal, on a thread that the process does
/// not wait for.
pub(crate) async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.context("a thread of the host failed")?
}

/// A lock that is released when dropped, or when the process ends.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

/// Takes a lock. Waits while another process holds it.
pub(crate) async fn lock(path: &Path) -> Result<FileLock> {
    let cannot = || format!("{} cannot be locked", path.display());
    // Refuses links, and does not block on a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .custom_flags(flags)
        .open(path)
        .with_context(cannot)?;
    match file.try_lock() {
        Ok(()) => return Ok(FileLock { _file: file }),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
    }
    let wait = move || Ok(file.lock().map(|()| FileLock { _file: file }));
    spawn_blocking(wait).await?.with_context(cannot)
}

/// Writes a temporary file and renames it, so that readers see the old or the new content. Follows no
/// links, and keeps the permissions of the file.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let before = fs::symlink_metadata(path).ok();
    let before = before.filter(fs::Metadata::is_file);
    // The mode of a new file, before the umask.
    let mut file = new_file(path, 0o666)?;
    file.write_all(bytes)?;
    if let Some(before) = before {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.persist(path)?;
    Ok(())
}

/// Writes a file as [`replace`] does, and refuses what is not a regular file in its place: a link may lead
/// to a file of someone else.
pub(crate) fn write_over_file(path: &Path, bytes: &[u8]) -> Result<()> {
    refuse_other_than_file(path)?;
    Ok(replace(path, bytes)?)
}

/// Writes a file that its owner alone can read, as [`write_over_file`] does.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    refuse_other_than_file(path)?;
    let mut file = new_file(path, 0o600)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Makes a file under a temporary name beside a path.
fn new_file(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".tmp");
    builder.permissions(Permissions::from_mode(mode));
    builder.tempfile_in(folder_of(path))
}

/// Returns the folder of a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

fn refuse_other_than_file(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            bail!("it is a symbolic link; remove it, or name the file that it leads to")
        }
        Ok(metadata) if !metadata.is_file() => bail!("it is not a regular file; name another path"),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
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

    #[test]
    fn only_a_regular_file_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        write_over_file(&path("a"), b"new").unwrap();
        write_over_file(&path("a"), b"newer").unwrap();
        assert_eq!(fs::read(path("a")).unwrap(), b"newer");
        for (name, target) in [
            ("link", "a"),
            ("dangling", "missing"),
            ("null", "/dev/null"),
        ] {
            symlink(target, path(name)).unwrap();
            let refused = write_over_file(&path(name), b"x").unwrap_err();
            assert!(refused.to_string().contains("symbolic link"), "{refused}");
            assert!(fs::symlink_metadata(path(name)).unwrap().is_symlink());
        }
        fs::create_dir(path("dir")).unwrap();
        write_over_file(&path("dir"), b"x").unwrap_err();
        assert_eq!(fs::read(path("a")).unwrap(), b"newer");
        assert!(!path("missing").exists());
    }
}
