//! Values that the layers of one pipeline run share.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use toolhost_contract::JsonObject;

/// A JSON object that the layers of one turn, step or call share, before and after the rest runs.
/// Cheap to clone: every clone is the same object.
///
/// Spec: tool-spec-v2 §8.3.
#[derive(Debug, Clone, Default)]
pub struct Metadata(Arc<Mutex<JsonObject>>);

impl Metadata {
    /// Returns a copy of a key's value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value> {
        self.with(|object| object.get(key).cloned())
    }

    /// Sets a key, and returns its earlier value.
    pub fn set(&self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        self.with(|object| object.insert(key, value))
    }

    /// Returns a copy of the whole object.
    #[must_use]
    pub fn to_object(&self) -> JsonObject {
        self.with(|object| object.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut JsonObject) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
