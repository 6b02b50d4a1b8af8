//! The SQLite database of a state root.
//!
//! [`Store`] runs transactions on one worker thread. Each owner of tables brings their [`Schema`]; the
//! versions of different owners are independent. A [`Lease`] tells which runs of the store are alive,
//! so that one process can take over the rows of another that died.
//!
//! Internal to toolhost: any release may change this API.

mod copy;
mod error;
mod lease;
mod open;
mod random;
mod schema;
mod store;
mod wal;

pub use copy::copy_database;
pub use error::StoreError;
pub use lease::{FileLease, Lease, LocalLease};
pub use random::{is_random_text, random_text};
pub use rusqlite;
pub use schema::Schema;
pub use store::Store;

#[cfg(test)]
mod tests;
