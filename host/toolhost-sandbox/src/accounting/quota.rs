//! A resource that all calls share, and how much of it the calls of each component hold.
//!
//! A component may take more while it holds less than `share` times what is free. See
//! [`queue`](crate::scheduler::queue) for the same rule applied to call slots.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::component_id::ComponentId;
use crate::sync::lock;

/// Returns whether a component that holds this much may take more of what is free.
pub(crate) fn is_fair(held: u64, free: u64, share: u64) -> bool {
    held < free.saturating_mul(share)
}

/// A fixed amount of a resource.
#[derive(Debug)]
pub(crate) struct Quota {
    total: u64,
    share: u64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    sum: u64,
    by_component: BTreeMap<ComponentId, u64>,
}

impl Quota {
    /// `share` is [`share_per_free`](crate::SandboxConfig::share_per_free).
    pub(crate) fn new(total: u64, share: u32) -> Self {
        Self {
            total,
            share: share.max(1).into(),
            held: Mutex::default(),
        }
    }

    /// Half of the files that this process may open, for all guests together. The embedder's own files
    /// and connections have the other half.
    pub(crate) fn open_files(share: u32) -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Self::new(limit.current.unwrap_or(u64::MAX) / 2, share)
    }

    /// Returns the sum that all components hold.
    pub(crate) fn held(&self) -> u64 {
        lock(&self.held).sum
    }

    /// Returns whether [`take`](Self::take) would succeed now.
    pub(crate) fn would_grant(&self, component: ComponentId, amount: u64) -> bool {
        self.fits(&lock(&self.held), component, amount)
    }

    fn fits(&self, held: &Held, component: ComponentId, amount: u64) -> bool {
        let free = self.total.saturating_sub(held.sum);
        let own = held.by_component.get(&component).copied().unwrap_or(0);
        amount <= free && is_fair(own, free, self.share)
    }

    /// Takes an amount for a component. Returns false where it is not free, or where the component
    /// already holds its share.
    pub(crate) fn take(&self, component: ComponentId, amount: u64) -> bool {
        if amount == 0 {
            return true;
        }
        let mut held = lock(&self.held);
        let fits = self.fits(&held, component, amount);
        if fits {
            held.sum += amount;
            *held.by_component.entry(component).or_default() += amount;
        }
        fits
    }

    pub(crate) fn give_back(&self, component: ComponentId, amount: u64) {
        if amount == 0 {
            return;
        }
        let mut held = lock(&self.held);
        held.sum = held.sum.saturating_sub(amount);
        if let Some(own) = held.by_component.get_mut(&component) {
            *own = own.saturating_sub(amount);
            if *own == 0 {
                held.by_component.remove(&component);
            }
        }
    }

    /// Takes an amount that the returned guard gives back.
    pub(crate) fn hold(
        self: &Arc<Self>,
        component: ComponentId,
        amount: u64,
    ) -> Option<QuotaGuard> {
        self.take(component, amount).then(|| QuotaGuard {
            quota: Arc::clone(self),
            component,
            amount,
        })
    }
}

/// Gives back its amount when dropped.
#[derive(Debug)]
pub(crate) struct QuotaGuard {
    quota: Arc<Quota>,
    component: ComponentId,
    amount: u64,
}

impl Drop for QuotaGuard {
    fn drop(&mut self) {
        self.quota.give_back(self.component, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_component_takes_three_quarters_and_what_it_gives_back_is_free_for_all() {
        let quota = Arc::new(Quota::new(100, 3));
        let (hog, other) = (ComponentId(1), ComponentId(2));
        let mut held: Vec<QuotaGuard> = std::iter::from_fn(|| quota.hold(hog, 1)).collect();
        assert_eq!((held.len(), quota.held()), (75, 75));
        assert!(!quota.would_grant(hog, 1) && quota.would_grant(other, 25));
        assert!(!quota.take(other, 26));
        assert!(quota.take(other, 25) && quota.take(hog, 0));
        held.clear();
        assert_eq!(quota.held(), 25);
        assert!(quota.take(hog, 75));
        quota.give_back(hog, 75);
        quota.give_back(other, 25);
        assert_eq!(lock(&quota.held).by_component.len(), 0);
    }
}
