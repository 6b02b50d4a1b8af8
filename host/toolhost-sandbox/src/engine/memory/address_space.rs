//! A reserved range of addresses, and what is mapped there.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};

use crate::platform;

/// Reserved addresses. Dropping it unmaps them.
///
/// Offsets count from its beginning. Methods panic where a range is not within it.
#[derive(Debug)]
pub(in crate::engine) struct AddressSpace {
    base: NonNull<u8>,
    len: usize,
}

#[expect(unsafe_code, reason = "it owns the addresses, as a Box does")]
unsafe impl Send for AddressSpace {}
#[expect(unsafe_code, reason = "its methods that write need `&mut self`")]
unsafe impl Sync for AddressSpace {}

#[expect(
    unsafe_code,
    reason = "each call names a range that `checked` found within the mapping, which this value owns"
)]
impl AddressSpace {
    /// Reserves addresses. No access to them is allowed yet.
    pub(in crate::engine) fn reserve(len: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let base = unsafe { mmap_anonymous(ptr::null_mut(), len, ProtFlags::empty(), flags) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let space = Self { base, len };
        // A huge page would be reset as a whole.
        platform::keep_small_pages(space.at(0), len);
        Ok(space)
    }

    /// Maps a part of a file, copy-on-write.
    pub(in crate::engine) fn map_file(
        &mut self,
        range: Range<usize>,
        file: BorrowedFd<'_>,
        file_offset: u64,
        writable: bool,
    ) -> io::Result<()> {
        let (start, len) = self.checked(range);
        let mut access = ProtFlags::READ;
        access.set(ProtFlags::WRITE, writable);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let mapped = unsafe { mmap(start, len, access, flags, file, file_offset) }?;
        // Replaces the mapping above, and with it the advice.
        platform::keep_small_pages(mapped, len);
        Ok(())
    }

    /// Allows or denies access.
    pub(in crate::engine) fn set_accessible(
        &mut self,
        range: Range<usize>,
        yes: bool,
    ) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let (start, len) = self.checked(range);
        let access = if yes {
            MprotectFlags::READ | MprotectFlags::WRITE
        } else {
            MprotectFlags::empty()
        };
        Ok(unsafe { mprotect(start, len, access) }?)
    }

    /// Returns pages to the kernel: they read as the file that is mapped there, or as zeros.
    ///
    /// # Errors
    /// The kernel may refuse, as it does after `mlockall`, or have no such request.
    pub(in crate::engine) fn discard(&mut self, range: Range<usize>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let (start, len) = self.checked(range);
        unsafe { platform::discard(start, len) }
    }

    /// Writes bytes over an accessible range of the same length.
    pub(in crate::engine) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let (start, len) = self.checked(offset..offset + bytes.len());
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start.cast(), len) };
    }

    /// Writes zeros over an accessible range.
    pub(in crate::engine) fn write_zeros(&mut self, range: Range<usize>) {
        let (start, len) = self.checked(range);
        unsafe { ptr::write_bytes(start.cast::<u8>(), 0, len) };
    }

    /// Returns the bytes of a readable range.
    ///
    /// # Safety
    /// The range is readable, and nobody writes to it while the slice lives.
    pub(in crate::engine) unsafe fn bytes(&self, range: Range<usize>) -> &[u8] {
        let (start, len) = self.checked(range);
        unsafe { std::slice::from_raw_parts(start.cast(), len) }
    }
}

impl AddressSpace {
    /// The address of an offset.
    pub(in crate::engine) fn at(&self, offset: usize) -> *mut core::ffi::c_void {
        assert!(offset <= self.len, "{offset} is not within {}", self.len);
        self.base.as_ptr().wrapping_add(offset).cast()
    }

    fn checked(&self, range: Range<usize>) -> (*mut core::ffi::c_void, usize) {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "{range:?} is not within {}",
            self.len
        );
        (self.at(range.start), range.len())
    }
}

impl Drop for AddressSpace {
    #[expect(unsafe_code, reason = "nobody else holds the mapping")]
    fn drop(&mut self) {
        // Fails only for a range that is not mapped.
        let _ = unsafe { munmap(self.at(0), self.len) };
    }
}
