//! The slots of one component.

use std::io;
use std::sync::Arc;

use toolhost_runtime::ComponentId;

use super::idle::IdleMemory;
use super::idle_slots::IdleSlots;
use super::image::Image;
use super::slot::Slot;

/// Where the memories of a component's instances come from.
#[derive(Debug)]
pub(crate) struct MemorySource {
    /// What one of its memories begins with. The others begin with zeros.
    image: Option<Arc<Image>>,
    idle: Arc<IdleSlots>,
    shared: Arc<IdleMemory>,
}

impl MemorySource {
    pub(crate) fn new(
        component: ComponentId,
        image: Option<Image>,
        shared: &Arc<IdleMemory>,
    ) -> Arc<Self> {
        Arc::new(Self {
            image: image.map(Arc::new),
            idle: shared.slots_of(component),
            shared: Arc::clone(shared),
        })
    }

    /// What one of its memories begins with.
    pub(crate) fn image(&self) -> Option<&Image> {
        self.image.as_deref()
    }

    /// Returns a slot for a memory that begins with `bytes`. They read as zeros, or as the image and zeros
    /// if the image is of this memory.
    pub(super) fn take(&self, bytes: usize, reserved: usize, guard: usize) -> io::Result<Slot> {
        let image = self.image.as_ref().filter(|image| image.minimum() == bytes);
        let mut slot = match self.idle.take(image.is_some()) {
            Some(slot) => slot,
            None => Slot::new(image.cloned(), reserved, guard)?,
        };
        if let Err(error) = slot.resize(bytes) {
            self.idle.drop_slot(slot);
            return Err(error);
        }
        Ok(slot)
    }

    /// Resets a slot for the next call.
    pub(super) fn put_back(&self, mut slot: Slot) {
        let mut reset = slot.reset(self.shared.scan.as_ref());
        let resident = slot.resident() as u64;
        let more = resident.saturating_sub(slot.held);
        if reset.is_ok() && more > 0 {
            if self.shared.take(self.idle.component(), more) {
                slot.held = resident;
            } else {
                reset = slot.discard();
            }
        }
        match reset {
            Ok(()) => self.idle.put(slot),
            Err(error) => {
                tracing::debug!(%error, "cannot reset a memory: it is unmapped");
                self.idle.drop_slot(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: usize = 64 << 10;

    /// Has an instance of a component write to so many bytes.
    fn call(source: &MemorySource, bytes: usize) {
        let mut slot = source.take(1 << 20, 4 << 20, GUARD).unwrap();
        slot.fill(bytes);
        source.put_back(slot);
    }

    fn idle(bytes: u64) -> (Arc<IdleMemory>, Arc<MemorySource>, Arc<MemorySource>) {
        let idle = IdleMemory::new(bytes, 3);
        let source = |id| MemorySource::new(ComponentId(id), None, &idle);
        let (one, other) = (source(1), source(2));
        (idle, one, other)
    }

    #[test]
    fn components_that_are_not_called_give_up_their_memory() {
        let (idle, one, other) = idle(1 << 20);
        call(&one, 900 << 10);
        let kept = idle.kept();
        assert!((900 << 10..=1 << 20).contains(&kept), "{kept}");
        // What the other has no room for is returned.
        call(&other, 512 << 10);
        assert_eq!(idle.kept(), kept);
        // Both were called since the start, and only the other one since the first sweep.
        idle.sweep();
        call(&other, 4 << 10);
        idle.sweep();
        assert!(idle.kept() < 100 << 10, "{}", idle.kept());
        call(&other, 512 << 10);
        assert!(idle.kept() >= 512 << 10, "{}", idle.kept());
    }

    #[test]
    fn a_component_that_is_dropped_gives_up_its_memory() {
        let (idle, one, other) = idle(4 << 20);
        call(&one, 512 << 10);
        drop(one);
        assert_eq!(idle.kept(), 0);
        call(&other, 512 << 10);
        assert!(idle.kept() > 0);
    }

    #[test]
    fn a_component_keeps_at_most_its_share() {
        let (idle, one, _) = idle(1 << 20);
        let slots: Vec<_> = (0..8)
            .map(|_| {
                let mut slot = one.take(1 << 20, 4 << 20, GUARD).unwrap();
                slot.fill(200 << 10);
                slot
            })
            .collect();
        slots.into_iter().for_each(|slot| one.put_back(slot));
        assert!(idle.kept() <= 1 << 20, "{}", idle.kept());
        assert!(idle.kept() >= 600 << 10, "{}", idle.kept());
    }
}
