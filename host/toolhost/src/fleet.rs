//! Calls that run on other machines: a host sends them to workers over a [`Carrier`], and gets their reports.
//!
//! Host and worker load the same bundle under the same policy, each with its own secrets. The host admits, validates and
//! counts a call, and ends it as every call: middleware, limits, redaction. The worker runs the component, and commits what
//! it changed.

mod carrier;
mod claim;
mod order;
mod origin;
pub(crate) mod repeat;
mod root_id;
pub(crate) mod terms;
mod worker;
mod worker_info;

pub use carrier::{
    Carrier, CarrierError, Carrying, Claim, Claimed, Deliveries, Delivery, Destination, Route,
    WorkerLease,
};
pub use order::drain;
pub use origin::Workers;
pub(crate) use origin::{NoReport, Origin};
pub use worker::{Worker, WorkerConfig, WorkerError};
pub use worker_info::WorkerInfo;
