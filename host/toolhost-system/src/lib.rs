//! The calls of the operating system that toolhost uses, with the same names on every system.
//!
//! On Unix each item is rustix's or the standard library's own. On Windows items of the same names are made of the
//! standard library and of what cap-std is made of. What Windows cannot do fails with `NOTSUP` or `NOSYS`, and no call
//! there succeeds without effect, except as the documentation of the item says.
//!
//! # Windows
//!
//! - A call that takes a directory and a name takes the path that the directory has now, and the name beneath it. Names
//!   that lead elsewhere are refused: those with separators, `:`, control characters or a dot or a space at the end,
//!   those of devices, and short forms of other names. A directory that is open as a directory keeps its path.
//! - Files have no owner and no permission bits: they are those of the user's profile. Each file belongs to the user of
//!   this process, who alone may read and write it, as far as checks of owners and bits are concerned. The access
//!   control lists of Windows are neither read nor written.
//! - The identity of a file is the serial number of its volume and its index there, which a rename keeps.

#[cfg(any(windows, test))]
mod name;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use unix::ioctl;
#[cfg(unix)]
pub use unix::mm;
#[cfg(unix)]
pub use unix::{buffer, fd, ffi, fs, io, param, path, process, time};
#[cfg(windows)]
pub use windows::{buffer, fd, ffi, fs, io, path, process, time};

#[cfg(all(unix, feature = "cap"))]
pub use unix::cap;
#[cfg(all(windows, feature = "cap"))]
pub use windows::cap;
