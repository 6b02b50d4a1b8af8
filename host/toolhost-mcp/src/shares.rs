//! Divides what the server has among its instances, so that none takes all of it: calls, streams, memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How much each instance has taken. Clones count together.
#[derive(Debug, Default, Clone)]
pub(crate) struct InstanceShares(Arc<Mutex<HashMap<Arc<str>, usize>>>);

/// What an instance has taken, until this is dropped.
#[derive(Debug)]
pub(crate) struct InstanceShare {
    shares: InstanceShares,
    key: Arc<str>,
    amount: usize,
}

impl InstanceShares {
    /// Takes an amount. Returns none if the instance would have more than `max`.
    pub(crate) fn take(&self, key: &str, amount: usize, max: usize) -> Option<InstanceShare> {
        let key: Arc<str> = key.into();
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let total = shares.get(&key).copied().unwrap_or_default();
        let total = total.checked_add(amount).filter(|total| *total <= max)?;
        shares.insert(Arc::clone(&key), total);
        drop(shares);
        Some(InstanceShare {
            shares: self.clone(),
            key,
            amount,
        })
    }
}

impl Drop for InstanceShare {
    fn drop(&mut self) {
        let mut shares = self.shares.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(total) = shares.get_mut(&self.key) {
            *total -= self.amount;
            if *total == 0 {
                shares.remove(&self.key);
            }
        }
    }
}

/// An amount of something, of which an instance may have a part.
#[derive(Debug)]
pub(crate) struct Shares {
    free: Arc<Semaphore>,
    of_instances: InstanceShares,
    max_of_instance: usize,
}

/// A part of the amount, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    _of_all: OwnedSemaphorePermit,
    _of_instance: InstanceShare,
}

/// What there is not enough of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    All,
    Instance,
}

impl Shares {
    pub(crate) fn new(all: usize, max_of_instance: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(all.min(Semaphore::MAX_PERMITS))),
            of_instances: InstanceShares::default(),
            max_of_instance,
        }
    }

    /// Takes a part.
    ///
    /// # Errors
    /// [`Exhausted`] if there is not enough for the instance, or for all.
    pub(crate) fn take(&self, key: &str, amount: usize) -> Result<Share, Exhausted> {
        let permits = u32::try_from(amount).unwrap_or(u32::MAX);
        let of_all = Arc::clone(&self.free).try_acquire_many_owned(permits);
        let of_all = of_all.map_err(|_| Exhausted::All)?;
        let of_instance = self.of_instances.take(key, amount, self.max_of_instance);
        Ok(Share {
            _of_all: of_all,
            _of_instance: of_instance.ok_or(Exhausted::Instance)?,
        })
    }

    /// Returns what nobody has taken.
    pub(crate) fn free(&self) -> usize {
        self.free.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_counted_by_instance_and_forgotten_with_the_last() {
        let shares = InstanceShares::default();
        let first = shares.take("a", 2, 5).unwrap();
        let second = shares.take("a", 3, 5).unwrap();
        assert!(shares.take("a", 1, 5).is_none());
        let other = shares.take("b", 5, 5).unwrap();
        drop(first);
        assert!(shares.take("a", 3, 5).is_none());
        assert!(shares.take("a", 2, 5).is_some());
        drop((second, other));
        assert!(shares.0.lock().unwrap().is_empty());
    }

    #[test]
    fn an_instance_that_may_take_nothing_leaves_nothing_behind() {
        let shares = InstanceShares::default();
        assert!(shares.take("a", 1, 0).is_none());
        assert!(shares.0.lock().unwrap().is_empty());
    }

    #[test]
    fn all_instances_take_no_more_than_there_is_and_a_refusal_takes_nothing() {
        let shares = Shares::new(10, 6);
        let first = shares.take("a", 6);
        assert_eq!(shares.take("a", 1).unwrap_err(), Exhausted::Instance);
        assert_eq!(shares.take("b", 5).unwrap_err(), Exhausted::All);
        assert_eq!(shares.free(), 4);
        assert!(shares.take("b", 4).is_ok());
        drop(first);
        assert_eq!(shares.free(), 10);
    }
}
