//! Tests over a real NATS server, which each test starts for itself.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod blobs;
mod claims;
mod connection;
mod credentials;
mod line;
mod queues;
mod restart;
mod server;
