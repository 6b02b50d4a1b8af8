//! What only the user of this process may change.
//!
//! One rule holds for every directory and file that the host keeps for itself:
//!
//! - It belongs to the user of this process.
//! - Nobody else can write to a directory, and nobody else can read or write a file. What is made here has the mode
//!   0700 or 0600.
//! - It is not a symbolic link, except for a directory that an operator names: see [`PrivateDir::make`].
//! - Nobody else can exchange such a directory: everybody may write to a directory above it only if that is sticky, as
//!   `/tmp` is.

mod dir;
mod error;
mod file;
mod key;
mod rule;

pub use dir::PrivateDir;
pub use error::NotPrivate;
pub use file::PrivateFile;
pub use key::{read_key, read_or_make_key};
pub use rule::is_of_this_user;

#[cfg(test)]
mod tests;
