//! Symbolic links, which std cannot make here in its stable part.

use std::ffi::{CString, c_char, c_int};
use std::io;

unsafe extern "C" {
    /// Of the C library that std itself stands on.
    #[link_name = "symlink"]
    fn c_symlink(target: *const c_char, path: *const c_char) -> c_int;
}

/// Makes `path` a link to `target`.
pub fn symlink(target: &str, path: &str) -> io::Result<()> {
    let (target, path) = (CString::new(target)?, CString::new(path)?);
    // SAFETY: both are texts that end in NUL and live until the call is over.
    match unsafe { c_symlink(target.as_ptr(), path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
