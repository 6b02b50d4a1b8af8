//! How much memory the slots of all components keep resident.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::page_scan::PageScan;
use super::source::MemorySource;
use crate::accounting::quota::Quota;
use crate::component_id::ComponentId;
use crate::sync::lock;

/// Time in which a component must be called for its slots to keep their pages when others need memory.
const UNUSED: Duration = Duration::from_secs(1);

/// What the slots of a sandbox share.
#[derive(Debug)]
pub(crate) struct IdleMemory {
    pub(super) scan: Option<PageScan>,
    /// Bytes that slots keep, by component.
    kept: Quota,
    sources: Mutex<Sources>,
}

#[derive(Debug)]
struct Sources {
    all: Vec<Weak<MemorySource>>,
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
            kept: Quota::new(bytes, share),
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

    pub(super) fn add(&self, source: &Arc<MemorySource>) {
        let mut sources = lock(&self.sources);
        sources.all.retain(|source| source.strong_count() > 0);
        sources.all.push(Arc::downgrade(source));
    }

    /// Takes bytes for a component, if need be from slots that are not used.
    pub(super) fn take(&self, component: ComponentId, bytes: u64) -> bool {
        self.kept.take(component, bytes) || {
            self.sweep_if_due();
            self.kept.take(component, bytes)
        }
    }

    pub(super) fn give_back(&self, component: ComponentId, bytes: u64) {
        self.kept.give_back(component, bytes);
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
    fn sweep(&self) {
        let all = lock(&self.sources).all.clone();
        for source in all.iter().filter_map(Weak::upgrade) {
            source.discard_unless_used();
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
