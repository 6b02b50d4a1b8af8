//! The addresses of one linear memory.

use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::address_space::AddressSpace;
use super::image::Image;
use super::page_scan::PageScan;

/// Inaccessible addresses before a memory, in bytes. Nothing is known to need them.
const BEFORE: usize = 1 << 20;

/// Most bytes that a slot keeps resident. A call that wrote to more returns all its pages.
const KEPT: usize = 32 << 20;

/// Resets after which a slot returns its pages once, so that pages which only few calls write to are not
/// reset forever.
const RESETS: u32 = 512;

/// Slots that keep less than this never return their pages for that reason, in bytes.
const FEW: usize = 256 << 10;

/// The largest memory that is reset as a whole where pages cannot be scanned, even if it is mostly zeros,
/// in bytes.
const SMALL: usize = 2 << 20;

/// Largest ratio of a memory to its image at which the memory counts as mostly image.
const MOST_PER_IMAGE: usize = 4;

/// Addresses that a memory can grow into. All of it reads as the component's initial data between calls.
#[derive(Debug)]
pub(super) struct Slot {
    space: AddressSpace,
    image: Option<Arc<Image>>,
    /// Bytes that the guest can access.
    accessible: usize,
    /// The most bytes that a guest could access since all pages were returned.
    reached: usize,
    /// Bytes that the slot keeps resident, as the last resets found.
    resident: usize,
    /// What the slot holds of the limit on idle memory.
    pub(super) held: u64,
    resets: u32,
}

impl Slot {
    /// Reserves addresses for a memory of at most `reserved` bytes, with a guard of `guard` bytes behind
    /// it, and maps the image.
    pub(super) fn new(
        image: Option<Arc<Image>>,
        reserved: usize,
        guard: usize,
    ) -> io::Result<Self> {
        let mut space = AddressSpace::reserve(BEFORE + reserved + guard)?;
        if let Some(image) = &image {
            // Beyond `accessible`: but the memory begins with at least the size of its image.
            image.map_into(&mut space, BEFORE)?;
        }
        let accessible = image.as_ref().map_or(0, |image| image.range().end);
        let mut slot = Self {
            space,
            image,
            accessible: 0,
            reached: 0,
            resident: 0,
            held: 0,
            resets: 0,
        };
        slot.resize(accessible)?;
        Ok(slot)
    }

    /// Whether the memory begins with an image.
    pub(super) fn has_image(&self) -> bool {
        self.image.is_some()
    }

    /// The address at which the memory begins.
    pub(super) fn base(&self) -> *mut u8 {
        self.space.at(BEFORE).cast()
    }

    /// Bytes that the guest can access.
    pub(super) fn accessible(&self) -> usize {
        self.accessible
    }

    /// Bytes that the slot keeps resident.
    pub(super) fn resident(&self) -> usize {
        self.resident
    }

    /// Sets how many bytes the guest can access.
    pub(super) fn resize(&mut self, bytes: usize) -> io::Result<()> {
        let (now, then) = (self.accessible, bytes);
        if now < then {
            self.space.set_accessible(in_space(now..then), true)?;
        } else if then < now {
            self.space.set_accessible(in_space(then..now), false)?;
        }
        self.accessible = bytes;
        self.reached = self.reached.max(bytes);
        Ok(())
    }

    /// Makes all accessible bytes read as the image and zeros.
    ///
    /// # Errors
    /// The kernel refuses to take pages back. The slot must not be used again.
    pub(super) fn reset(&mut self, scan: Option<&PageScan>) -> io::Result<()> {
        self.resets = self.resets.saturating_add(1);
        let again = self.resets < RESETS || self.resident < FEW;
        let kept = match scan {
            Some(scan) if again => self.reset_written(scan),
            None if self.is_written_as_a_whole() => {
                self.reset_range(0..self.accessible);
                Some(self.accessible)
            }
            Some(_) | None => None,
        };
        match kept {
            // What earlier calls reached beyond is resident as well.
            Some(kept) if self.accessible < self.reached => {
                self.resident = self.resident.max(kept);
            }
            Some(kept) => self.resident = kept,
            None => self.discard()?,
        }
        Ok(())
    }

    /// Whether resetting all bytes takes less time than the page faults would.
    fn is_written_as_a_whole(&self) -> bool {
        let image = self.image.as_ref().map_or(0, |image| image.range().len());
        let mostly_image = image.saturating_mul(MOST_PER_IMAGE) >= self.accessible;
        self.accessible <= SMALL || (self.accessible <= KEPT && mostly_image)
    }

    /// Returns all pages to the kernel.
    ///
    /// # Errors
    /// The kernel refuses. The slot must not be used again.
    pub(super) fn discard(&mut self) -> io::Result<()> {
        self.resets = 0;
        self.resident = 0;
        let reached = std::mem::replace(&mut self.reached, self.accessible);
        self.space.discard(in_space(0..reached))
    }

    /// Resets the pages that a scan finds. Returns their bytes, or none where there are too many or the
    /// scan fails.
    fn reset_written(&mut self, scan: &PageScan) -> Option<usize> {
        let (image, mut kept) = (self.image.clone(), 0);
        let image = image.as_deref();
        let within = image.map_or(0..0, Image::range);
        let range = in_space(0..self.accessible);
        let flow = scan.for_each(&mut self.space, range, |space, pages, zeros| {
            let pages = pages.start - BEFORE..pages.end - BEFORE;
            // Over the image, a page of zeros is one that was written to.
            if zeros && (pages.end <= within.start || within.end <= pages.start) {
                return ControlFlow::Continue(());
            }
            kept += pages.len();
            if kept > KEPT {
                return ControlFlow::Break(());
            }
            reset_range(space, image, pages);
            ControlFlow::Continue(())
        });
        matches!(flow, Ok(ControlFlow::Continue(()))).then_some(kept)
    }

    /// Writes to the first bytes, as a guest would.
    #[cfg(test)]
    pub(super) fn fill(&mut self, bytes: usize) {
        self.space.write(BEFORE, &vec![0xa5; bytes]);
    }

    fn reset_range(&mut self, range: Range<usize>) {
        let image = self.image.clone();
        reset_range(&mut self.space, image.as_deref(), range);
    }
}

/// Writes zeros and the image over a range of the memory.
fn reset_range(space: &mut AddressSpace, image: Option<&Image>, range: Range<usize>) {
    let within = image.map_or(range.end..range.end, Image::range);
    let start = within.start.clamp(range.start, range.end);
    let end = within.end.clamp(start, range.end);
    space.write_zeros(in_space(range.start..start));
    space.write_zeros(in_space(end..range.end));
    let bytes = image.map_or(&[][..], Image::bytes);
    let part = bytes.get(start.wrapping_sub(within.start)..end.wrapping_sub(within.start));
    if let (true, Some(part)) = (start < end, part) {
        space.write(BEFORE + start, part);
    }
}

/// Where bytes of the memory lie in the address space.
fn in_space(range: Range<usize>) -> Range<usize> {
    BEFORE + range.start..BEFORE + range.end
}

#[cfg(test)]
mod tests {
    use super::super::image::{InitialData, PAGE};
    use super::*;

    const GUARD: usize = 64 << 10;

    /// A slot of 64 pages of WebAssembly whose image is its third and fourth.
    fn slot() -> Slot {
        let data = InitialData {
            offset: 2 * PAGE,
            bytes: vec![7; 2 * PAGE],
            minimum: 64 * PAGE,
        };
        let image = Arc::new(Image::copy(&data).unwrap());
        let mut slot = Slot::new(Some(image), 256 * PAGE, GUARD).unwrap();
        slot.resize(64 * PAGE).unwrap();
        slot
    }

    #[expect(
        unsafe_code,
        reason = "the bytes are accessible, and the slot is borrowed"
    )]
    fn bytes(slot: &Slot) -> &[u8] {
        unsafe { slot.space.bytes(in_space(0..slot.accessible)) }
    }

    #[track_caller]
    fn assert_initial(slot: &Slot) {
        for (at, byte) in bytes(slot).iter().enumerate() {
            let expected = if (2 * PAGE..4 * PAGE).contains(&at) {
                7
            } else {
                0
            };
            assert_eq!(*byte, expected, "at {at}");
        }
    }

    /// Writes to every second page of 4 KiB of a range, so that no two of them are adjacent.
    fn write(slot: &mut Slot, range: Range<usize>) {
        for at in range.step_by(8 << 10) {
            slot.space.write(BEFORE + at, &[1; 100]);
        }
    }

    #[cfg(all(target_os = "linux", not(feature = "portable")))]
    #[test]
    fn a_slot_that_was_reset_reads_as_its_image_and_zeros() {
        let scan = PageScan::new();
        for scan in [scan.as_ref(), None] {
            let mut slot = slot();
            assert_initial(&slot);
            // More ranges than one request returns.
            write(&mut slot, 0..64 * PAGE);
            slot.reset(scan).unwrap();
            assert_initial(&slot);
            // Grown, and not grown again.
            slot.resize(80 * PAGE).unwrap();
            write(&mut slot, PAGE..80 * PAGE);
            slot.reset(scan).unwrap();
            assert_initial(&slot);
            slot.resize(64 * PAGE).unwrap();
            slot.reset(scan).unwrap();
            slot.resize(80 * PAGE).unwrap();
            assert_initial(&slot);
            // Without a scan, a small memory is overwritten as a whole.
            slot.resize(8 * PAGE).unwrap();
            write(&mut slot, 0..8 * PAGE);
            slot.reset(scan).unwrap();
            slot.resize(80 * PAGE).unwrap();
            assert_initial(&slot);
        }
    }

    #[test]
    fn pages_that_were_written_to_stay_resident_and_others_do_not() {
        let Some(scan) = PageScan::new() else {
            println!("NOT TESTED: this kernel cannot scan pages");
            return;
        };
        let mut slot = slot();
        slot.reset(Some(&scan)).unwrap();
        assert_eq!(slot.resident(), 0);
        // Reading makes pages present, and not the slot's own.
        assert_initial(&slot);
        slot.reset(Some(&scan)).unwrap();
        assert_eq!(slot.resident(), 0);
        let page = rustix::param::page_size();
        for at in [0, 2 * PAGE, 3 * PAGE, 60 * PAGE] {
            slot.space.write(BEFORE + at, &[0]);
        }
        slot.reset(Some(&scan)).unwrap();
        assert_eq!(slot.resident(), 4 * page);
        assert_initial(&slot);
        slot.discard().unwrap();
        assert_eq!(slot.resident(), 0);
        assert_initial(&slot);
    }

    #[cfg(all(target_os = "linux", not(feature = "portable")))]
    #[test]
    fn a_slot_returns_more_than_it_may_keep_and_what_only_few_calls_need() {
        let scan = PageScan::new();
        let mut slot = Slot::new(None, KEPT * 2, GUARD).unwrap();
        slot.resize(KEPT + (1 << 20)).unwrap();
        slot.fill(KEPT + (1 << 20));
        slot.reset(scan.as_ref()).unwrap();
        assert_eq!(slot.resident(), 0);
        assert!(bytes(&slot).iter().all(|byte| *byte == 0));
        if scan.is_some() {
            slot.fill(2 * FEW);
            for _ in 1..RESETS {
                slot.reset(scan.as_ref()).unwrap();
                assert!(slot.resident() >= 2 * FEW);
            }
            slot.reset(scan.as_ref()).unwrap();
            assert_eq!(slot.resident(), 0);
        }
    }
}
