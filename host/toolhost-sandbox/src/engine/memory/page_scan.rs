//! Asks the kernel which pages of a private mapping may differ from what is mapped there.
//!
//! Such a page has memory of its own: a page that was written to is anonymous memory, in RAM or in swap.
//! Every other page is absent, belongs to the mapped file, or is the kernel's page of zeros. So the scan
//! reports pages that are present *or swapped out*, and leaves out those of a file. It never relies on a
//! bit that says whether a page was written to.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};
use rustix::process::{Pid, getpid};

use super::address_space::AddressSpace;
use super::image::PAGE;

/// `PAGEMAP_SCAN` of Linux 6.7 and later, on the page map of this process.
#[derive(Debug)]
pub(super) struct PageScan {
    page_map: File,
    /// The process whose pages it scans. A child that was forked has others.
    process: Pid,
}

/// What the kernel reports of a page.
const FILE: u64 = 1 << 2;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
const ZERO_PAGE: u64 = 1 << 5;

/// Ranges that one request returns at most.
const RANGES: usize = 128;

/// Adjacent pages of the same kind, as addresses.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    kinds: u64,
}

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Debug, Default)]
struct Request {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walked_to: u64,
    regions: u64,
    regions_len: u64,
    most_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

/// Whether this process can scan its pages.
pub(crate) fn is_available() -> bool {
    PageScan::new().is_some()
}

impl PageScan {
    /// None where the kernel has no such request, or answers a mapping of known pages otherwise than
    /// expected.
    pub(super) fn new() -> Option<Self> {
        let scan = Self {
            page_map: File::open("/proc/self/pagemap").ok()?,
            process: getpid(),
        };
        scan.answers_as_expected().unwrap_or(false).then_some(scan)
    }

    /// Calls `visit` with the offsets of pages that may have been written to, in order, until it breaks.
    /// Where `visit` gets true, the pages read as zeros.
    ///
    /// # Errors
    /// The kernel refuses, or this process is a child that was forked.
    pub(super) fn for_each<B>(
        &self,
        space: &mut AddressSpace,
        range: Range<usize>,
        mut visit: impl FnMut(&mut AddressSpace, Range<usize>, bool) -> ControlFlow<B>,
    ) -> io::Result<ControlFlow<B>> {
        if getpid() != self.process {
            return Err(io::Error::other("the page map is of another process"));
        }
        let base = space.at(0) as u64;
        let end = base + range.end as u64;
        let mut next = base + range.start as u64;
        while next < end {
            let mut regions = [Region::default(); RANGES];
            let (found, walked_to) = self.scan(next..end, &mut regions)?;
            for region in regions.iter().take(found) {
                let offsets = offset(base, region.start)..offset(base, region.end);
                let visited = visit(space, offsets, region.kinds & ZERO_PAGE != 0);
                if visited.is_break() {
                    return Ok(visited);
                }
            }
            if walked_to <= next {
                return Err(io::Error::other("the scan did not advance"));
            }
            next = walked_to;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn scan(
        &self,
        addresses: Range<u64>,
        regions: &mut [Region; RANGES],
    ) -> io::Result<(usize, u64)> {
        let request = Request {
            size: size_of::<Request>() as u64,
            start: addresses.start,
            end: addresses.end,
            regions: regions.as_mut_ptr() as u64,
            regions_len: RANGES as u64,
            inverted: FILE,
            all_of: FILE,
            any_of: PRESENT | SWAPPED,
            returned: ZERO_PAGE,
            ..Request::default()
        };
        #[expect(
            unsafe_code,
            reason = "the kernel writes to the request and to as many regions as it names"
        )]
        let (found, walked_to) = unsafe { ioctl(&self.page_map, request) }?;
        if found > RANGES {
            return Err(io::Error::other("the scan returned too many ranges"));
        }
        Ok((found, walked_to))
    }

    /// Scans four parts: of zeros that were read, written to, untouched, and written to with zeros.
    fn answers_as_expected(&self) -> io::Result<bool> {
        let mut space = AddressSpace::reserve(PAGE * 4)?;
        space.set_accessible(0..PAGE * 4, true)?;
        #[expect(unsafe_code, reason = "it was made readable above")]
        let read = unsafe { space.bytes(0..1) }.first() == Some(&0);
        space.write(PAGE, &[1]);
        space.write(PAGE * 3, &[0]);
        let mut written = Vec::new();
        let flow = self.for_each(&mut space, 0..PAGE * 4, |_, pages, zeros| {
            if !zeros {
                written.push(pages);
            }
            ControlFlow::<()>::Continue(())
        })?;
        let starts = written.iter().map(|pages| pages.start);
        // The kernel's pages are as large as a part or smaller.
        let within = written.iter().all(|pages| pages.len() <= PAGE);
        Ok(read && flow.is_continue() && within && starts.eq([PAGE, PAGE * 3]))
    }
}

fn offset(base: u64, address: u64) -> usize {
    usize::try_from(address.saturating_sub(base)).unwrap_or(usize::MAX)
}

#[expect(
    unsafe_code,
    reason = "the opcode, the layout and the result are those of the kernel's pm_scan_arg"
)]
unsafe impl Ioctl for Request {
    /// How many ranges were found, and the address at which the scan ended.
    type Output = (usize, u64);

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<Self>(b'f', 16)
    }

    fn as_ptr(&mut self) -> *mut core::ffi::c_void {
        std::ptr::from_mut(self).cast()
    }

    unsafe fn output_from_ptr(
        found: IoctlOutput,
        request: *mut core::ffi::c_void,
    ) -> rustix::io::Result<Self::Output> {
        let found = usize::try_from(found).map_err(|_| rustix::io::Errno::INVAL)?;
        let request = unsafe { &*request.cast::<Self>() };
        Ok((found, request.walked_to))
    }
}
