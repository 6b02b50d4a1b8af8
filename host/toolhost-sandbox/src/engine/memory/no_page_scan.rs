//! In the place of the scan of pages, where the system has none.

use std::io;
use std::ops::{ControlFlow, Range};

use super::address_space::AddressSpace;

/// Never constructed.
#[derive(Debug)]
pub(super) enum PageScan {}

/// Whether this process can scan its pages.
pub(crate) fn is_available() -> bool {
    false
}

impl PageScan {
    pub(super) fn new() -> Option<Self> {
        None
    }

    pub(super) fn for_each<B>(
        &self,
        _: &mut AddressSpace,
        _: Range<usize>,
        _: impl FnMut(&mut AddressSpace, Range<usize>, bool) -> ControlFlow<B>,
    ) -> io::Result<ControlFlow<B>> {
        match *self {}
    }
}
