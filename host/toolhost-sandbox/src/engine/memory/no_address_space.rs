//! In the place of reserved addresses, where the engine allocates memories and stacks itself.

use std::io;
use std::ops::Range;

use toolhost_system::fd::BorrowedFd;

/// There are none.
#[derive(Debug)]
pub(in crate::engine) enum AddressSpace {}

impl AddressSpace {
    /// Reserves nothing.
    pub(in crate::engine) fn reserve(_: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::engine) fn map_file(
        &mut self,
        _: Range<usize>,
        _: BorrowedFd<'_>,
        _: u64,
        _: bool,
    ) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::engine) fn set_accessible(&mut self, _: Range<usize>, _: bool) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::engine) fn discard(&mut self, _: Range<usize>) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::engine) fn write(&mut self, _: usize, _: &[u8]) {
        match *self {}
    }

    pub(in crate::engine) fn write_zeros(&mut self, _: Range<usize>) {
        match *self {}
    }

    /// Returns nothing.
    ///
    /// # Safety
    /// It is never called.
    #[expect(unsafe_code, reason = "it is unsafe where there are addresses")]
    pub(in crate::engine) unsafe fn bytes(&self, _: Range<usize>) -> &[u8] {
        match *self {}
    }

    pub(in crate::engine) fn at(&self, _: usize) -> *mut core::ffi::c_void {
        match *self {}
    }
}
