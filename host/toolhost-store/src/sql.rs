//! What owners of tables use: SQL in the subset that SQLite and PostgreSQL share, with `?1` or `:name` for values.
//!
//! Where they differ: a scalar `max` or `min` is `CASE`, `IS` between values is `IS NOT DISTINCT FROM`, `sum` is cast to
//! `BIGINT`, `ON CONFLICT` names its columns, a subquery has a name, and a value of which only `IS NULL` is asked is cast.

mod params;
mod row;
mod transaction;
mod value;

pub use params::{Bindings, Params};
pub(crate) use row::Columns;
pub use row::{Column, Row};
pub use transaction::Transaction;
pub(crate) use transaction::{Read, Work};
pub use value::{FromValue, ToValue, ValueRef};

pub use crate::{named_params, params};

/// Why work on a database failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL failed, or the connection to it.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
    /// A query that returns one row returned none.
    #[error("a query returned no row")]
    NoRow,
    /// A column has a value that the reader does not know.
    #[error("the column '{column}' cannot be read")]
    Unreadable {
        /// Its name.
        column: String,
        /// Why.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A value cannot be stored.
    #[error("a value cannot be stored")]
    Unstorable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// PostgreSQL does not answer, or its answer does not come in time.
    #[error("{0}")]
    Unavailable(String),
}

/// The result of work on a database.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes the error of a column with an unknown value.
    pub fn unreadable(
        column: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Unreadable {
            column: column.into(),
            source: Some(source.into()),
        }
    }
}
