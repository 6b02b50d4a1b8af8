//! An allocator for many small blocks.
//!
//! A document is tens of thousands of small values, and a query makes more: with the allocator of the C library a
//! third of the time goes to finding, joining and splitting blocks. Here a freed block waits in the list of its
//! size for the next one of that size. The memory goes back to the host with the instance, at the end of the call.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;

#[global_allocator]
static ALLOCATOR: FreeLists = FreeLists(UnsafeCell::new(State {
    freed: [ptr::null_mut(); LISTS],
    next: ptr::null_mut(),
    left: 0,
}));

/// Sizes are multiples of this many bytes, which is also the largest alignment.
const STEP: usize = 16;

/// Larger blocks are the system allocator's.
const MOST: usize = 512;

/// So are blocks of a smaller alignment: bytes and lists that the host gives to the C library are made here, but freed
/// by the C library itself.
const LEAST_ALIGN: usize = 8;

/// A list for each size.
const LISTS: usize = MOST / STEP;

/// Bytes that are taken from the system allocator at once.
const CHUNK: usize = 128 << 10;

struct FreeLists(UnsafeCell<State>);

struct State {
    /// The first freed block of each size; its first word is the next one.
    freed: [*mut u8; LISTS],
    /// The unused end of the current chunk.
    next: *mut u8,
    left: usize,
}

// SAFETY: a component of this contract has one thread.
unsafe impl Sync for FreeLists {}

/// The list for a block, if it is small.
fn list_of(layout: Layout) -> Option<usize> {
    let aligned = (LEAST_ALIGN..=STEP).contains(&layout.align());
    (aligned && layout.size() <= MOST).then(|| layout.size().saturating_sub(1) / STEP)
}

impl State {
    /// Takes a block from the current chunk, or from a new one.
    fn carve(&mut self, size: usize) -> *mut u8 {
        if self.left < size {
            // SAFETY: the size is not zero and the alignment is a power of two.
            let chunk = unsafe { System.alloc(Layout::from_size_align_unchecked(CHUNK, STEP)) };
            if chunk.is_null() {
                return chunk;
            }
            (self.next, self.left) = (chunk, CHUNK);
        }
        let block = self.next;
        // SAFETY: `size` bytes are left.
        self.next = unsafe { block.add(size) };
        self.left -= size;
        block
    }
}

// SAFETY: a block belongs to one owner: it is carved once, and in a list only while it is freed. Sizes are rounded
// up to those of the lists, and chunks and steps are aligned to `STEP`.
unsafe impl GlobalAlloc for FreeLists {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(list) = list_of(layout) else {
            // SAFETY: as the caller promises.
            return unsafe { System.alloc(layout) };
        };
        // SAFETY: there is one thread, and nothing here calls back.
        let state = unsafe { &mut *self.0.get() };
        let Some(head) = state.freed.get_mut(list) else {
            return ptr::null_mut();
        };
        if head.is_null() {
            return state.carve((list + 1) * STEP);
        }
        let block = *head;
        // SAFETY: a freed block holds the next one.
        *head = unsafe { block.cast::<*mut u8>().read() };
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(list) = list_of(layout) else {
            // SAFETY: as the caller promises.
            return unsafe { System.dealloc(block, layout) };
        };
        // SAFETY: as above.
        let state = unsafe { &mut *self.0.get() };
        if let Some(head) = state.freed.get_mut(list) {
            // SAFETY: the block has at least `STEP` bytes, and its owner has given it up.
            unsafe { block.cast::<*mut u8>().write(*head) };
            *head = block;
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (list_of(layout), list_of(wanted)) {
            // SAFETY: as the caller promises.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            (now, then) if now == then => block,
            _ => {
                // SAFETY: both blocks hold at least the bytes that are copied, and are different.
                unsafe {
                    let moved = self.alloc(wanted);
                    if !moved.is_null() {
                        ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}
