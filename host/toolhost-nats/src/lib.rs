//! Carries calls to workers, and their reports back, over NATS JetStream.
//!
//! ```no_run
//! # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
//! use toolhost_nats::{NatsAuth, NatsCarrier, NatsConfig};
//!
//! let mut config = NatsConfig::new("tls://nats.example.com");
//! config.auth = NatsAuth::Token("…".to_owned().into());
//! let carrier = NatsCarrier::connect(config).await?;
//! # drop(carrier);
//! # Ok(())
//! # }
//! ```
//!
//! A server of version 2.10 or later with JetStream is needed. What is made on it, with `T` for the tenant:
//!
//! | name | what it holds | how long |
//! |---|---|---|
//! | stream `TOOLHOST_T_CALLS`, subjects `toolhost.T.call.>` | calls that no worker has acknowledged | 24 h |
//! | stream `TOOLHOST_T_REPORTS`, subjects `toolhost.T.report.*` | reports that no host has acknowledged | 24 h |
//! | key-value bucket `toolhost_T_claims` | which worker runs a call | 24 h |
//! | key-value bucket `toolhost_T_leases` | which workers live | 5 s |
//! | object store bucket `toolhost_T_blobs` | messages over 900 KiB | 24 h |
//! | subject `toolhost.T.orders` | what workers are told, such as to stop a call | not stored |
//!
//! Whoever may use these names may run tools on every worker of the tenant: give the credentials to hosts and workers
//! alone.

mod carrier;

mod claims;
mod deliveries;

mod blobs;

mod server;

mod layout;
mod open;
mod own_runtime;

mod config;
mod names;

pub use carrier::NatsCarrier;
pub use config::{NatsAuth, NatsConfig, NatsSecret};
pub use open::NatsError;
