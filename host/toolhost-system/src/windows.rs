//! Items with the names of Unix, made for Windows.

pub mod buffer;
#[cfg(feature = "cap")]
pub mod cap;
pub mod fd;
pub mod ffi;
pub mod fs;
pub mod io;
pub mod path;
pub mod process;
pub mod time;
