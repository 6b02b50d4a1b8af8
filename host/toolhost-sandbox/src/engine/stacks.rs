//! The stacks that guests run on, which are reused from one call to the next without being cleared.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use wasmtime::{StackCreator, StackMemory};

use crate::engine::memory::address_space::AddressSpace;
use crate::engine::per_thread::PerThread;

/// Stacks that stay mapped while no call runs on them.
const IDLE: usize = 256;

/// A stack that a call used to this depth, in bytes, is not kept: its pages would stay in memory.
const DEEP: usize = 1 << 20;

/// The page at that depth is read to see whether a call wrote to it. A frame of an interpreter is smaller.
const PAGE: usize = 4 << 10;

/// Inaccessible addresses beneath a stack, in bytes. A multiple of the pages of every kernel.
const GUARD: usize = 64 << 10;

/// What the engine asks for stacks.
#[derive(Default)]
pub(crate) struct HostStacks(Arc<Idle>);

#[derive(Default)]
struct Idle {
    stacks: PerThread<Stack>,
    count: AtomicUsize,
}

/// A stack, and the inaccessible addresses beneath it.
struct Stack {
    space: AddressSpace,
    size: usize,
}

#[expect(
    unsafe_code,
    reason = "a stack has the size that the engine asks for, is aligned to pages, and has addresses without access beneath it"
)]
unsafe impl StackCreator for HostStacks {
    fn new_stack(
        &self,
        size: usize,
        zeroed: bool,
    ) -> Result<Box<dyn StackMemory>, wasmtime::Error> {
        debug_assert!(!zeroed, "the engine's settings ask for no zeroed stacks");
        let reused = self.0.stacks.take().inspect(|_| {
            self.0.count.fetch_sub(1, Relaxed);
        });
        let stack = match reused.filter(|stack| stack.size >= size) {
            Some(stack) => stack,
            None => Stack::new(size)?,
        };
        let bottom = stack.space.at(GUARD).cast::<u8>();
        Ok(Box::new(HostStack {
            guard: stack.space.at(0).cast()..bottom,
            top: bottom.wrapping_add(stack.size),
            stack: Some(stack),
            idle: Arc::clone(&self.0),
        }))
    }
}

impl Stack {
    fn new(size: usize) -> std::io::Result<Self> {
        let size = size.next_multiple_of(GUARD);
        let mut space = AddressSpace::reserve(GUARD + size)?;
        space.set_accessible(GUARD..GUARD + size, true)?;
        Ok(Self { space, size })
    }

    /// Whether a call wrote to the page at the depth `DEEP`. A new stack is zero.
    fn was_deep(&self) -> bool {
        let Some(depth) = self.size.checked_sub(DEEP) else {
            return false;
        };
        let words = self.space.at(GUARD + depth).cast::<u64>();
        (0..PAGE / size_of::<u64>()).step_by(8).any(|index| {
            #[expect(
                unsafe_code,
                reason = "the page lies within the stack, which is readable, and no call runs on it"
            )]
            let word = unsafe { words.add(index).read_volatile() };
            word != 0
        })
    }
}

/// A stack that a call runs on.
struct HostStack {
    guard: Range<*mut u8>,
    top: *mut u8,
    /// None once it is dropped.
    stack: Option<Stack>,
    idle: Arc<Idle>,
}

#[expect(unsafe_code, reason = "the addresses belong to the stack it holds")]
unsafe impl Send for HostStack {}
#[expect(unsafe_code, reason = "nothing is written through a shared reference")]
unsafe impl Sync for HostStack {}

#[expect(
    unsafe_code,
    reason = "the addresses are those of the mapping, which does not move"
)]
unsafe impl StackMemory for HostStack {
    fn top(&self) -> *mut u8 {
        self.top
    }

    fn range(&self) -> Range<usize> {
        self.guard.end as usize..self.top as usize
    }

    fn guard_range(&self) -> Range<*mut u8> {
        self.guard.clone()
    }
}

impl Drop for HostStack {
    fn drop(&mut self) {
        let Some(stack) = self.stack.take() else {
            return;
        };
        if self.idle.count.load(Relaxed) < IDLE && !stack.was_deep() {
            self.idle.count.fetch_add(1, Relaxed);
            self.idle.stacks.put(stack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_a_stack_unless_a_call_used_it_deeply() {
        let stacks = HostStacks::default();
        for (depth, kept) in [(64 << 10, 1), (DEEP - PAGE / 2, 0)] {
            let stack = stacks.new_stack(8 << 20, false).expect("a stack");
            #[expect(
                unsafe_code,
                reason = "the address lies within the stack, on which nothing runs"
            )]
            unsafe {
                stack
                    .top()
                    .wrapping_sub(depth)
                    .cast::<[u64; 8]>()
                    .write([1; 8]);
            };
            drop(stack);
            assert_eq!(stacks.0.count.load(Relaxed), kept);
        }
    }
}
