//! Reads what the user names: bounded, and where it may wait without holding up Ctrl-C.

mod lock;
mod replace;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

pub(crate) use lock::{FileLock, lock};
pub(crate) use replace::replace;

/// Reads a file of at most `max` bytes; `what` names it in errors.
pub(crate) async fn file(what: &'static str, path: &Path, max: u64) -> Result<Vec<u8>> {
    let path = path.to_owned();
    aside(move || file_now(what, &path, max)).await
}

/// Reads a text file of at most `max` bytes.
pub(crate) async fn text_file(what: &'static str, path: &Path, max: u64) -> Result<String> {
    let bytes = file(what, path, max).await?;
    String::from_utf8(bytes).with_context(|| format!("{what} {} is not UTF-8 text", path.display()))
}

/// Reads stdin to its end, at most `max` bytes of text.
pub(crate) async fn stdin(max: u64) -> Result<String> {
    let bytes =
        aside(move || bounded(std::io::stdin().lock(), max).context("stdin cannot be read"));
    String::from_utf8(bytes.await?).context("what stdin holds is not UTF-8 text")
}

/// Reads a file of at most `max` bytes on this thread.
pub(crate) fn file_now(what: &str, path: &Path, max: u64) -> Result<Vec<u8>> {
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

/// Runs what may wait for ever, such as a read of a terminal, where it can be left behind.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.context("a thread of the host failed")?
}
