//! Handles of open files.

use std::fs::File;
use std::io::{Stderr, Stdin, Stdout};
use std::os::windows::io::AsHandle;
use std::sync::Arc;

use cap_std::fs::Dir;

pub use std::os::windows::io::{BorrowedHandle as BorrowedFd, OwnedHandle as OwnedFd};

/// What has an open handle.
pub trait AsFd {
    /// Borrows the handle.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

/// Implements the trait for types that have a handle.
macro_rules! as_fd {
    ($($name:ty),*) => {
        $(impl AsFd for $name {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.as_handle()
            }
        })*
    };
}

as_fd!(
    File,
    Dir,
    cap_std::fs::File,
    OwnedFd,
    BorrowedFd<'_>,
    Stdin,
    Stdout,
    Stderr
);

impl<T: AsFd + ?Sized> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl<T: AsFd + ?Sized> AsFd for Arc<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}
