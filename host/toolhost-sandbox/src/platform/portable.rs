//! Portable replacements of the requests of `linux`.

use std::ffi::c_void;
use std::fs::File;
use std::io;

/// Makes a file that has lost its name.
pub(crate) fn memory_file(_: &str) -> io::Result<File> {
    tempfile::tempfile()
}

/// There is no such advice.
pub(crate) fn keep_small_pages(_: *mut c_void, _: usize) {}

/// Pages cannot be returned: the mapping is removed as a whole.
///
/// # Safety
/// None: it does nothing.
#[expect(unsafe_code, reason = "it is unsafe on Linux")]
pub(crate) unsafe fn discard(_: *mut c_void, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
