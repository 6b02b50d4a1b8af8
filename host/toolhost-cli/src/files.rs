//! Reads, replaces and locks files.

mod lock;
mod read;
mod replace;

pub(crate) use lock::{FileLock, lock};
pub(crate) use read::{read, read_async, spawn_blocking, stdin, text_file};
pub(crate) use replace::replace;
