//! The streams of notifications, which last until their clients leave.

use super::body::{Refusal, refusal};
use crate::shares::{Share, Shares};
use http::StatusCode;

/// Counts streams, so that connections stay free for calls: half of them, and a quarter of one instance.
pub(crate) struct Streams(Shares);

impl Streams {
    pub(super) fn new(max_connections: usize) -> Self {
        let (all, of_instance) = (max_connections / 2, max_connections / 4);
        Self(Shares::new(all.max(1), of_instance.max(1)))
    }

    /// Begins a stream of an instance.
    ///
    /// # Errors
    /// The status 503 if as many are open as may be.
    pub(super) fn begin(&self, key: &str) -> Result<Share, Refusal> {
        self.0.take(key, 1).map_err(|_| {
            let text = "too many streams of notifications are open";
            refusal(StatusCode::SERVICE_UNAVAILABLE, text)
        })
    }
}
