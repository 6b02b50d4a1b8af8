//! The slots of one component.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::idle::IdleMemory;
use super::image::Image;
use super::slot::Slot;
use crate::component_id::ComponentId;
use crate::engine::per_thread::PerThread;

/// Where the memories of a component's instances come from.
#[derive(Debug)]
pub(crate) struct MemorySource {
    component: ComponentId,
    /// What its memory begins with. None where it begins with zeros, or where it has several memories.
    image: Option<Arc<Image>>,
    idle: PerThread<Slot>,
    shared: Arc<IdleMemory>,
    /// Whether it was called since the last sweep.
    used: AtomicBool,
}

impl MemorySource {
    pub(crate) fn new(
        component: ComponentId,
        image: Option<Image>,
        shared: &Arc<IdleMemory>,
    ) -> Arc<Self> {
        let source = Arc::new(Self {
            component,
            image: image.map(Arc::new),
            idle: PerThread::default(),
            shared: Arc::clone(shared),
            used: AtomicBool::new(true),
        });
        shared.add(&source);
        source
    }

    /// What its memory begins with.
    pub(crate) fn image(&self) -> Option<&Image> {
        self.image.as_deref()
    }

    /// Returns a slot of which `bytes` are accessible. All of them read as the image and zeros.
    pub(super) fn take(&self, bytes: usize, reserved: usize, guard: usize) -> io::Result<Slot> {
        self.used.store(true, Relaxed);
        let mut slot = match self.idle.take() {
            Some(slot) => slot,
            None => Slot::new(self.image.clone(), reserved, guard)?,
        };
        if let Err(error) = slot.resize(bytes) {
            self.drop_slot(slot);
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
            if self.shared.take(self.component, more) {
                slot.held = resident;
            } else {
                reset = slot.discard();
            }
        }
        match reset {
            Ok(()) => {
                self.give_back_unused(&mut slot);
                self.idle.put(slot);
            }
            Err(error) => {
                tracing::debug!(%error, "cannot reset a memory: it is unmapped");
                self.drop_slot(slot);
            }
        }
    }

    /// Returns the pages of idle slots, unless it was called since the last time.
    pub(super) fn discard_unless_used(&self) {
        if self.used.swap(false, Relaxed) {
            return;
        }
        for mut slot in self.idle.take_all() {
            match slot.discard() {
                Ok(()) => {
                    self.give_back_unused(&mut slot);
                    self.idle.put(slot);
                }
                Err(_) => self.drop_slot(slot),
            }
        }
    }

    /// Gives back what a slot holds beyond its resident pages, if that is much.
    fn give_back_unused(&self, slot: &mut Slot) {
        let resident = slot.resident() as u64;
        if slot.held / 2 >= resident {
            self.shared.give_back(self.component, slot.held - resident);
            slot.held = resident;
        }
    }

    fn drop_slot(&self, slot: Slot) {
        self.shared.give_back(self.component, slot.held);
        drop(slot);
    }
}

impl Drop for MemorySource {
    fn drop(&mut self) {
        for slot in self.idle.take_all() {
            self.drop_slot(slot);
        }
    }
}
