//! The stacks that guests run on, which are reused from one call to the next without being cleared.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use wasmtime::{StackCreator, StackMemory};

use crate::engine::memory::address_space::AddressSpace;
use crate::engine::per_thread::PerThread;

/// Stacks that stay mapped while no call runs on them.
const IDLE: usize = 256;

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
        if self.idle.count.load(Relaxed) < IDLE {
            self.idle.count.fetch_add(1, Relaxed);
            self.idle.stacks.put(stack);
        }
    }
}
