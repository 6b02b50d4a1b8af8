//! Gives the engine the memories of the component whose instance it makes.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use super::slot::Slot;
use super::source::MemorySource;

thread_local! {
    /// The component whose instance is being made on this thread. The engine does not say for whom it
    /// asks for a memory.
    static CURRENT: RefCell<Option<Arc<MemorySource>>> = const { RefCell::new(None) };
}

/// Awaits a future that makes an instance. Its memories come from this source.
pub(crate) async fn with_memories<T>(
    source: &Arc<MemorySource>,
    instantiate: impl Future<Output = T>,
) -> T {
    let mut instantiate = pin!(instantiate);
    poll_fn(|context| {
        let _restore = Restore(CURRENT.replace(Some(Arc::clone(source))));
        instantiate.as_mut().poll(context)
    })
    .await
}

/// Restores what was current before.
struct Restore(Option<Arc<MemorySource>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// What the engine asks for memories.
pub(crate) struct HostMemories;

#[expect(
    unsafe_code,
    reason = "a slot reserves the addresses and the guard that the engine asks for, and reads as zeros, or as the initial data that was taken out of the component"
)]
unsafe impl MemoryCreator for HostMemories {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        _maximum: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let source = CURRENT.with_borrow(Clone::clone);
        let source = source.ok_or("no component is being instantiated")?;
        let reserved = reserved.ok_or("the engine reserves no addresses for memories")?;
        let slot = source.take(minimum, reserved, guard);
        let slot = slot.map_err(|error| format!("cannot map a memory: {error}"))?;
        Ok(Box::new(HostMemory {
            slot: Some(slot),
            source,
            reserved,
        }))
    }
}

/// The system refuses to make a memory larger, though its limits allow it.
#[derive(Debug, thiserror::Error)]
#[error("the memory cannot grow")]
pub(crate) struct CannotGrow(#[source] pub(crate) io::Error);

/// A memory of a running instance.
struct HostMemory {
    /// None once it is dropped.
    slot: Option<Slot>,
    source: Arc<MemorySource>,
    reserved: usize,
}

#[expect(
    unsafe_code,
    reason = "the slot does not move, and is exactly as accessible as it says"
)]
unsafe impl LinearMemory for HostMemory {
    fn byte_size(&self) -> usize {
        self.slot.as_ref().map_or(0, Slot::accessible)
    }

    fn byte_capacity(&self) -> usize {
        self.reserved
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        let grown = match &mut self.slot {
            Some(slot) if new_size <= self.reserved => slot.resize(new_size),
            Some(_) | None => Err(io::ErrorKind::OutOfMemory.into()),
        };
        Ok(grown.map_err(CannotGrow)?)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.slot.as_ref().map_or(std::ptr::null_mut(), Slot::base)
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.source.put_back(slot);
        }
    }
}
