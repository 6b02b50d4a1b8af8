//! Resources that all calls share, and how much of each the calls of a component hold.
//!
//! **No tool starves another.** A component may take more while it holds less than `share` times what is
//! free. With the default of 3, one component takes at most three quarters of a resource, two take at
//! most three sevenths each, and `n` leave `1 / (1 + 3n)` of it free. This one rule applies to call
//! slots, waiting calls, memory, open files, parked calls, calls that hang and slots that keep memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::ComponentId;
use crate::sync::lock;

/// A fixed amount of a resource.
#[derive(Debug)]
pub struct Shares {
    total: u64,
    share: u64,
    held: u64,
    by_component: BTreeMap<ComponentId, u64>,
}

impl Shares {
    /// `share` is how many times what is free an owner may hold.
    pub fn new(total: u64, share: u32) -> Self {
        Self {
            total,
            // With 0 nothing could be taken.
            share: share.max(1).into(),
            held: 0,
            by_component: BTreeMap::new(),
        }
    }

    /// Returns the sum that all components hold.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Returns what no component holds.
    pub fn free(&self) -> u64 {
        self.total.saturating_sub(self.held)
    }

    /// Returns what a component holds.
    pub fn held_by(&self, component: ComponentId) -> u64 {
        self.by_component.get(&component).copied().unwrap_or(0)
    }

    /// The components that hold something, in the order of their ids.
    pub fn components(&self) -> &BTreeMap<ComponentId, u64> {
        &self.by_component
    }

    /// Returns whether an amount is free, and the component holds less than its share.
    pub fn may_take(&self, component: ComponentId, amount: u64) -> bool {
        let free = self.free();
        amount <= free && self.held_by(component) < free.saturating_mul(self.share)
    }

    /// Takes an amount, even beyond the component's share.
    pub fn take(&mut self, component: ComponentId, amount: u64) {
        self.held += amount;
        *self.by_component.entry(component).or_default() += amount;
    }

    /// Gives an amount back.
    pub fn give_back(&mut self, component: ComponentId, amount: u64) {
        self.held = self.held.saturating_sub(amount);
        if let Some(used) = self.by_component.get_mut(&component) {
            *used = used.saturating_sub(amount);
            if *used == 0 {
                self.by_component.remove(&component);
            }
        }
    }
}

/// [`Shares`] that calls on all threads take from.
#[derive(Debug)]
pub struct Quota(Mutex<Shares>);

impl Quota {
    /// As [`Shares::new`].
    pub fn new(total: u64, share: u32) -> Self {
        Self(Mutex::new(Shares::new(total, share)))
    }

    /// Half of the files that this process may open, for all guests together. The embedder's own files
    /// and connections have the other half.
    pub fn open_files(share: u32) -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Self::new(limit.current.unwrap_or(u64::MAX) / 2, share)
    }

    /// Returns the sum that all components hold.
    pub fn held(&self) -> u64 {
        lock(&self.0).held()
    }

    /// Returns whether [`take`](Self::take) would succeed now.
    pub fn would_grant(&self, component: ComponentId, amount: u64) -> bool {
        lock(&self.0).may_take(component, amount)
    }

    /// Takes an amount for a component. Returns false where it is not free, or where the component
    /// already holds its share.
    pub fn take(&self, component: ComponentId, amount: u64) -> bool {
        if amount == 0 {
            return true;
        }
        let mut shares = lock(&self.0);
        let may = shares.may_take(component, amount);
        if may {
            shares.take(component, amount);
        }
        may
    }

    /// Gives an amount back.
    pub fn give_back(&self, component: ComponentId, amount: u64) {
        if amount > 0 {
            lock(&self.0).give_back(component, amount);
        }
    }

    /// Takes an amount that the returned guard gives back.
    pub fn hold(self: &Arc<Self>, component: ComponentId, amount: u64) -> Option<QuotaGuard> {
        self.take(component, amount).then(|| QuotaGuard {
            quota: Arc::clone(self),
            component,
            amount,
        })
    }
}

/// Gives back its amount when dropped.
#[derive(Debug)]
pub struct QuotaGuard {
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
        assert!(lock(&quota.0).components().is_empty());
    }
}
