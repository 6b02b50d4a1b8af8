//! Symbolic links, which stable std cannot make for this target.

use std::ffi::{CString, c_char, c_int};
use std::io;
use std::path::Path;

unsafe extern "C" {
    /// From the C library that std uses.
    #[link_name = "symlink"]
    fn c_symlink(target: *const c_char, path: *const c_char) -> c_int;
}

/// Makes `path` a link to `target`.
pub(crate) fn symlink(target: &Path, path: &Path) -> io::Result<()> {
    let text = |path: &Path| CString::new(path.as_os_str().as_encoded_bytes());
    let (target, path) = (text(target)?, text(path)?);
    // SAFETY: both are texts that end in NUL and live until the call is over.
    match unsafe { c_symlink(target.as_ptr(), path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
