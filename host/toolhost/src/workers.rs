//! How a host reaches the workers that run calls for it: over a [`Carrier`](carrier::Carrier).

pub(crate) mod carrier;
pub(crate) mod claim;
pub(crate) mod order;
pub(crate) mod origin;
pub(crate) mod parsed;
pub(crate) mod repeat;
pub(crate) mod root_id;
pub(crate) mod terms;
pub(crate) mod worker_info;
