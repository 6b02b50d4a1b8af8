//! How much memory the slots of all components keep resident.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use toolhost_runtime::{ComponentId, Quota, lock};

use super::idle_slots::IdleSlots;
use super::page_scan::PageScan;

/// Time in which a component must be called for its slots to keep their pages when others need memory.
const UNUSED: Duration = Duration::from_secs(1);

/// What the slots of a sandbox share.
#[derive(Debug)]
pub(crate) struct IdleMemory {
    pub(super) scan: Option<PageScan>,
    /// Bytes that slots keep, by component.
    kept: Arc<Quota>,
    sources: Mutex<Sources>,
}

#[derive(Debug)]
struct Sources {
    all: Vec<Weak<IdleSlots>>,
    /// When unused slots were last asked for their pages.
    swept: Instant,
}

impl IdleMemory {
    /// Slots may keep `bytes` resident. `share` is
    /// [`share_per_free`](crate::SandboxConfig::share_per_free).
    pub(crate) fn new(bytes: u64, share: u32) -> Arc<Self> {
        let scan = PageScan::new();
        if scan.is_none() {
            tracing::debug!(
                "the kernel cannot scan pages (Linux 6.7 can): memories are reset as a whole"
            );
        }
        Arc::new(Self {
            scan,
            kept: Arc::new(Quota::new(bytes, share)),
            sources: Mutex::new(Sources {
                all: Vec::new(),
                swept: Instant::now(),
            }),
        })
    }

    /// Bytes that slots keep, including those of running calls.
    pub(crate) fn kept(&self) -> u64 {
        self.kept.held()
    }

    /// Returns slots of a component. They keep bytes until they are dropped.
    pub(super) fn slots_of(&self, component: ComponentId) -> Arc<IdleSlots> {
        let slots = Arc::new(IdleSlots::new(component, &self.kept));
        let mut sources = lock(&self.sources);
        sources.all.retain(|source| source.strong_count() > 0);
        sources.all.push(Arc::downgrade(&slots));
        slots
    }

    /// Takes bytes for a component, if need be from slots that are not used.
    pub(super) fn take(&self, component: ComponentId, bytes: u64) -> bool {
        self.kept.take(component, bytes) || {
            self.sweep_if_due();
            self.kept.take(component, bytes)
        }
    }

    fn sweep_if_due(&self) {
        let due = {
            let mut sources = lock(&self.sources);
            let due = sources.swept.elapsed() >= UNUSED;
            if due {
                sources.swept = Instant::now();
            }
            due
        };
        if due {
            self.sweep();
        }
    }

    /// Has components that were not called since the last sweep return their pages.
    pub(super) fn sweep(&self) {
        let all = lock(&self.sources).all.clone();
        for source in all.iter().filter_map(Weak::upgrade) {
            source.discard_unless_used();
        }
    }
}
