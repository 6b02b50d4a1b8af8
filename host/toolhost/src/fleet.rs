//! Calls that run on other machines: a host sends them to workers over a [`Carrier`], and gets their reports.

mod carrier;

pub use carrier::{
    Carrier, CarrierError, Carrying, Claim, Deliveries, Delivery, Destination, Route, WorkerLease,
};
