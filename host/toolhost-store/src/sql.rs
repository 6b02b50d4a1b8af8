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
    #[error("{}", shown(.0))]
    Postgres(tokio_postgres::Error),
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

#[cfg(feature = "postgres")]
impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

/// Shows an error on one line: of the server its code and its message, without the details, which have what rows contain.
#[cfg(feature = "postgres")]
fn shown(error: &tokio_postgres::Error) -> String {
    let text = match error.as_db_error() {
        Some(error) => format!("{} (SQLSTATE {})", error.message(), error.code().code()),
        None => {
            let first: &dyn std::error::Error = error;
            let causes = std::iter::successors(Some(first), |error| error.source());
            let causes: Vec<String> = causes.map(ToString::to_string).collect();
            causes.join(": ")
        }
    };
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

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
