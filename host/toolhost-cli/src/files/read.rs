//! Reads files and stdin: at most a given number of bytes, and so that Ctrl-C still works while a read
//! blocks.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

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

/// Reads a file of at most `max` bytes on this thread.
pub(crate) fn read(what: &str, path: &Path, max: u64) -> Result<Vec<u8>> {
    let cannot = || format!("{what} {} cannot be read", path.display());
    let file = File::open(path).with_context(cannot)?;
    if file.metadata().with_context(cannot)?.is_dir() {
        bail!("{what} {} is a directory, not a file", path.display());
    }
    bounded(file, max).with_context(cannot)
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
