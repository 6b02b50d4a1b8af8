//! Requests of memory that only Linux has.

use std::ffi::c_void;
use std::fs::File;
use std::io;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm;

/// Makes a file without a name in memory.
pub(crate) fn memory_file(name: &str) -> io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

/// Keeps the kernel from making huge pages of a mapping. Fails on kernels without huge pages.
#[expect(unsafe_code, reason = "the advice changes no byte")]
pub(crate) fn keep_small_pages(start: *mut c_void, len: usize) {
    let _ = unsafe { mm::madvise(start, len, mm::Advice::LinuxNoHugepage) };
}

/// Returns pages of a private mapping to the kernel: they read as the file that is mapped there, or as zeros.
///
/// # Safety
/// The range is a mapping of the caller's, and nobody reads or writes it meanwhile.
#[expect(unsafe_code, reason = "it is unsafe for the caller")]
pub(crate) unsafe fn discard(start: *mut c_void, len: usize) -> io::Result<()> {
    Ok(unsafe { mm::madvise(start, len, mm::Advice::LinuxDontNeed) }?)
}
