//! The requests that run for one connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::message::RequestId;

/// The requests that run, by id.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<HashMap<String, Arc<Notify>>>);

/// A request that runs, until it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    requests: Arc<InFlight>,
    key: String,
    cancelled: Arc<Notify>,
}

impl InFlight {
    /// Adds a request; none if one with its id runs.
    pub(crate) fn begin(self: &Arc<Self>, id: &RequestId) -> Option<Running> {
        let (key, cancelled) = (id.key(), Arc::new(Notify::new()));
        let mut running = self.running();
        if running.contains_key(&key) {
            return None;
        }
        running.insert(key.clone(), Arc::clone(&cancelled));
        drop(running);
        Some(Running {
            requests: Arc::clone(self),
            key,
            cancelled,
        })
    }

    /// Cancels a request, if it runs.
    pub(crate) fn cancel(&self, id: &RequestId) {
        if let Some(cancelled) = self.running().get(&id.key()) {
            cancelled.notify_one();
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Waits until the request is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.notified().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.requests.running().remove(&self.key);
    }
}
