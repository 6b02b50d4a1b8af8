//! The streams of notifications, which last until their clients leave.

use std::sync::Arc;

use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body::{Refusal, refusal};
use crate::instance_calls::{InstanceCall, InstanceCalls};

/// Counts streams, so that connections stay free for calls: half of them, and a quarter of one instance.
pub(crate) struct Streams {
    free: Arc<Semaphore>,
    of_instances: InstanceCalls,
    max_of_instance: usize,
}

/// A stream, until this is dropped.
pub(super) struct Stream {
    _slot: OwnedSemaphorePermit,
    _of_instance: InstanceCall,
}

impl Streams {
    pub(super) fn new(max_connections: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new((max_connections / 2).max(1))),
            of_instances: InstanceCalls::default(),
            max_of_instance: (max_connections / 4).max(1),
        }
    }

    /// Begins a stream of an instance.
    ///
    /// # Errors
    /// The status 503 if as many are open as may be.
    pub(super) fn begin(&self, key: &str) -> Result<Stream, Refusal> {
        let slot = Arc::clone(&self.free).try_acquire_owned().ok();
        let of_instance = self.of_instances.begin(key, self.max_of_instance);
        let (Some(slot), Some(of_instance)) = (slot, of_instance) else {
            let text = "too many streams of notifications are open";
            return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, text));
        };
        Ok(Stream {
            _slot: slot,
            _of_instance: of_instance,
        })
    }
}
