//! What workers are told.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use toolhost_contract::{JsonLimits, WorkerCallId};

use super::carrier::{Carrier, CarrierError};

/// An order is short.
const ORDER: JsonLimits = JsonLimits::new(1 << 10, 4, 16);

/// What workers are told. It may get lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Order {
    /// Whichever worker runs this call stops it.
    Cancel(WorkerCallId),
    /// The worker of this id takes no more calls.
    Drain(String),
}

impl Order {
    pub(crate) fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// Returns the order. None if it is nothing that this release sends.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        ORDER.parse_bytes(bytes).ok()
    }
}

/// Tells a worker to take no more calls: it ends when those that run have ended. The order may get lost.
///
/// # Errors
/// [`CarrierError`].
pub async fn drain(carrier: &dyn Carrier, worker: &str) -> Result<(), CarrierError> {
    let order = Order::Drain(worker.to_owned());
    carrier.tell(order.to_bytes()).await
}
