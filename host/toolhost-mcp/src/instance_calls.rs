//! Counts the calls of each instance, so that none takes all that the server may run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of calls that run, of each instance that has any. Clones count together.
#[derive(Debug, Default, Clone)]
pub(crate) struct InstanceCalls(Arc<Mutex<HashMap<Arc<str>, usize>>>);

/// A call of an instance, until this is dropped.
pub(crate) struct InstanceCall {
    all: InstanceCalls,
    key: Arc<str>,
}

impl InstanceCalls {
    /// Counts a call. Returns none if the instance runs `max` calls.
    pub(crate) fn begin(&self, key: &str, max: usize) -> Option<InstanceCall> {
        let key: Arc<str> = key.into();
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.get(&key).copied().unwrap_or_default() >= max {
            return None;
        }
        *calls.entry(Arc::clone(&key)).or_default() += 1;
        drop(calls);
        Some(InstanceCall {
            all: self.clone(),
            key,
        })
    }
}

impl Drop for InstanceCall {
    fn drop(&mut self) {
        let mut calls = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = calls.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                calls.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_instance_and_forgotten_with_the_last() {
        let calls = InstanceCalls::default();
        let first = calls.begin("a", 2).unwrap();
        let second = calls.begin("a", 2).unwrap();
        assert!(calls.begin("a", 2).is_none());
        let other = calls.begin("b", 2).unwrap();
        drop(first);
        assert!(calls.begin("a", 2).is_some(), "one has ended");
        drop((second, other));
        assert!(calls.0.lock().unwrap().is_empty());
    }

    #[test]
    fn an_instance_that_may_run_nothing_leaves_nothing_behind() {
        let calls = InstanceCalls::default();
        assert!(calls.begin("a", 0).is_none());
        assert!(calls.0.lock().unwrap().is_empty());
    }
}
