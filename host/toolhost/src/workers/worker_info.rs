//! What a worker says of itself in its lease.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use toolhost_contract::JsonLimits;

use super::carrier::{Carrier, CarrierError};

/// A worker says little.
const INFO: JsonLimits = JsonLimits::new(64 << 10, 8, 1_000);

/// A worker that lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkerInfo {
    /// Id of its run.
    pub worker: String,
    /// Name of its machine.
    pub machine: String,
    /// Release of toolhost.
    pub toolhost: String,
    /// SHA-256 of its policy and its bundle, in hexadecimal. It gets calls of hosts with the same.
    pub terms: String,
    /// The name under which its bundle's workspaces are kept.
    pub bundle: String,
    /// Id of its state root.
    pub state_root: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// Calls that it runs at once, at most.
    pub slots: usize,
    /// Calls that run now.
    pub running: usize,
    /// Calls that it has ended.
    pub ended: u64,
    /// Whether it takes no more calls.
    pub is_draining: bool,
}

impl WorkerInfo {
    pub(crate) fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// Returns the workers that live, by machine and id. Leaves out those of other releases, whose leases have another form.
    ///
    /// # Errors
    /// [`CarrierError`].
    pub async fn all(carrier: &dyn Carrier) -> Result<Vec<Self>, CarrierError> {
        let leases = carrier.leases().await?;
        let read = leases.iter().filter_map(|lease| {
            let info: Self = INFO.parse_bytes(&lease.says).ok()?;
            (info.worker == lease.worker).then_some(info)
        });
        let mut workers: Vec<_> = read.collect();
        workers.sort_by(|one, other| {
            (&one.machine, &one.worker).cmp(&(&other.machine, &other.worker))
        });
        Ok(workers)
    }
}
