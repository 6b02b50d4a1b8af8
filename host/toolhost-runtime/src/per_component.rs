//! A value for each component that has calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use crate::ComponentId;
use crate::sync::lock;

/// Keeps one value for each component while it is in use.
#[derive(Debug)]
pub(crate) struct PerComponent<T>(Mutex<BTreeMap<ComponentId, Weak<T>>>);

impl<T> Default for PerComponent<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> PerComponent<T> {
    /// Returns the value of a component, which is made where none is in use.
    pub(crate) fn get(&self, component: ComponentId, make: impl FnOnce() -> T) -> Arc<T> {
        let mut values = lock(&self.0);
        if let Some(known) = values.get(&component).and_then(Weak::upgrade) {
            return known;
        }
        values.retain(|_, known| known.strong_count() > 0);
        let value = Arc::new(make());
        values.insert(component, Arc::downgrade(&value));
        value
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }
}
