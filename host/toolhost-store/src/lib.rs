//! The database of a state root: SQLite, or with the feature `postgres` a PostgreSQL that several machines share.
//!
//! [`Store`] runs transactions on a worker thread. Each owner of tables brings their [`Schema`]; the
//! versions of different owners are independent. A [`Lease`] tells which runs of the store are alive,
//! so that one process can take over the rows of another that died.
//!
//! Internal to toolhost: any release may change this API.

mod copy;
mod database;
mod error;
mod lease;
mod marker;
mod open;
#[cfg(feature = "postgres")]
pub mod postgres;
mod random;
mod schema;
pub mod sql;
mod sqlite;
mod sqlite_work;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod wal;

pub use copy::copy_database;
pub use database::Database;
pub use error::StoreError;
pub use lease::{FileLease, Lease, LocalLease};
#[cfg(feature = "postgres")]
pub use postgres::{Postgres, PostgresConfig};
pub use random::{is_random_text, random_text};
pub use rusqlite;
pub use schema::Schema;
pub use sqlite::SqliteStore;
pub use store::Store;

#[cfg(test)]
mod tests;
