//! What all calls share, and how much of it the calls of each component hold.
//!
//! Whoever holds less than `share` times what is free may have more of it: see
//! [`places`](crate::scheduler::admission), where the same rule is applied to places.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::component_id::ComponentId;
use crate::sync::lock;

/// Whether one that holds so much may take more of what is free.
pub(crate) fn fair(held: u64, free: u64, share: u64) -> bool {
    held < free.saturating_mul(share)
}

/// So much of something, for all calls.
#[derive(Debug)]
pub(crate) struct Shares {
    most: u64,
    share: u64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: u64,
    by: BTreeMap<ComponentId, u64>,
}

impl Shares {
    /// `share` is [`share_per_free`](crate::SandboxConfig::share_per_free).
    pub(crate) fn new(most: u64, share: u32) -> Self {
        Self {
            most,
            share: share.max(1).into(),
            held: Mutex::default(),
        }
    }

    /// What is held, by all.
    pub(crate) fn held(&self) -> u64 {
        lock(&self.held).all
    }

    /// Whether a component may have so much now.
    pub(crate) fn would_give(&self, component: ComponentId, amount: u64) -> bool {
        self.fits(&lock(&self.held), component, amount)
    }

    fn fits(&self, held: &Held, component: ComponentId, amount: u64) -> bool {
        let free = self.most.saturating_sub(held.all);
        let own = held.by.get(&component).copied().unwrap_or(0);
        amount <= free && fair(own, free, self.share)
    }

    /// Takes so much for a component, where it is there and its calls do not hold more than their
    /// share.
    pub(crate) fn take(&self, component: ComponentId, amount: u64) -> bool {
        if amount == 0 {
            return true;
        }
        let mut held = lock(&self.held);
        let fits = self.fits(&held, component, amount);
        if fits {
            held.all += amount;
            *held.by.entry(component).or_default() += amount;
        }
        fits
    }

    pub(crate) fn give_back(&self, component: ComponentId, amount: u64) {
        if amount == 0 {
            return;
        }
        let mut held = lock(&self.held);
        held.all = held.all.saturating_sub(amount);
        if let Some(own) = held.by.get_mut(&component) {
            *own = own.saturating_sub(amount);
            if *own == 0 {
                held.by.remove(&component);
            }
        }
    }

    /// Takes so much until what is returned is dropped.
    pub(crate) fn hold(self: &Arc<Self>, component: ComponentId, amount: u64) -> Option<Share> {
        self.take(component, amount).then(|| Share {
            shares: Arc::clone(self),
            component,
            amount,
        })
    }
}

/// What one call holds, until dropped.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Arc<Shares>,
    component: ComponentId,
    amount: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shares.give_back(self.component, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_takes_three_quarters_and_what_it_gives_back_is_anyones() {
        let shares = Arc::new(Shares::new(100, 3));
        let (hog, other) = (ComponentId::of("1"), ComponentId::of("2222222222222222"));
        let mut held: Vec<Share> = std::iter::from_fn(|| shares.hold(hog, 1)).collect();
        assert_eq!((held.len(), shares.held()), (75, 75));
        assert!(!shares.would_give(hog, 1) && shares.would_give(other, 25));
        assert!(!shares.take(other, 26));
        assert!(shares.take(other, 25) && shares.take(hog, 0));
        held.clear();
        assert_eq!(shares.held(), 25);
        assert!(shares.take(hog, 75));
        shares.give_back(hog, 75);
        shares.give_back(other, 25);
        assert_eq!(lock(&shares.held).by.len(), 0);
    }
}
