//! Which features of the kernel this process can use.

use toolhost_files::has_openat2;

use crate::engine::memory::page_scan;

/// Features of the kernel that the sandbox uses. Without them it works, with less speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelFeatures {
    /// `openat2` of Linux 5.6 and later: opens a guest's path in one system call. Without it, a path is
    /// opened one part at a time. A filter of system calls may deny it, as those of old container
    /// runtimes do.
    pub openat2: bool,
    /// `PAGEMAP_SCAN` of Linux 6.7 and later: finds the pages of memory that a call wrote to. Without it,
    /// all pages of the memory are reset after each call.
    pub pagemap_scan: bool,
}

impl KernelFeatures {
    /// Tries each feature. Changes nothing.
    pub fn detect() -> Self {
        Self {
            openat2: has_openat2(),
            pagemap_scan: page_scan::is_available(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(target_os = "linux", not(feature = "portable")))]
    #[test]
    fn openat2_is_detected() {
        // Every kernel that the tests run on has it; not all have the scan of pages.
        assert!(KernelFeatures::detect().openat2);
    }
}
