//! The slots of one component that no call uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use toolhost_runtime::{ComponentId, Quota};

use super::slot::Slot;
use crate::engine::per_thread::PerThread;

/// The slots of one component that no call uses.
#[derive(Debug)]
pub(super) struct IdleSlots {
    component: ComponentId,
    with_image: PerThread<Slot>,
    empty: PerThread<Slot>,
    /// Bytes that the slots of all components keep.
    kept: Arc<Quota>,
    /// Whether the component was called since the last sweep.
    used: AtomicBool,
}

impl IdleSlots {
    pub(super) fn new(component: ComponentId, kept: &Arc<Quota>) -> Self {
        Self {
            component,
            with_image: PerThread::default(),
            empty: PerThread::default(),
            kept: Arc::clone(kept),
            used: AtomicBool::new(true),
        }
    }

    pub(super) fn component(&self) -> ComponentId {
        self.component
    }

    /// Takes a slot with the image of the component, or one without it. The component counts as called.
    pub(super) fn take(&self, with_image: bool) -> Option<Slot> {
        self.used.store(true, Relaxed);
        self.of(with_image).take()
    }

    /// Keeps a slot that was reset. It gives back what it holds beyond its resident pages, if that is much.
    pub(super) fn put(&self, mut slot: Slot) {
        let resident = slot.resident() as u64;
        if slot.held / 2 >= resident {
            self.kept.give_back(self.component, slot.held - resident);
            slot.held = resident;
        }
        self.of(slot.has_image()).put(slot);
    }

    pub(super) fn drop_slot(&self, slot: Slot) {
        self.kept.give_back(self.component, slot.held);
        drop(slot);
    }

    /// Returns the pages of the slots, unless the component was called since the last time.
    pub(super) fn discard_unless_used(&self) {
        if self.used.swap(false, Relaxed) {
            return;
        }
        for mut slot in self.take_all() {
            match slot.discard() {
                Ok(()) => self.put(slot),
                Err(_) => self.drop_slot(slot),
            }
        }
    }

    fn of(&self, with_image: bool) -> &PerThread<Slot> {
        if with_image {
            &self.with_image
        } else {
            &self.empty
        }
    }

    fn take_all(&self) -> impl Iterator<Item = Slot> {
        let all = [self.with_image.take_all(), self.empty.take_all()];
        all.into_iter().flatten()
    }
}

impl Drop for IdleSlots {
    fn drop(&mut self) {
        for slot in self.take_all() {
            self.drop_slot(slot);
        }
    }
}
