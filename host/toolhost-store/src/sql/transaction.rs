//! A transaction on a database.

use std::fmt;
use std::ops::ControlFlow;

use super::params::{Bindings, Params};
use super::row::Row;
use super::{Error, Result};

/// A transaction. Statements are prepared once for each connection.
pub struct Transaction<'a>(&'a dyn Work);

/// Work in a transaction of a database: see [`Transaction`].
pub(crate) trait Work {
    fn run_id(&self) -> &str;
    fn is_alive(&self, run_id: &str) -> Result<bool>;
    fn execute(&self, sql: &str, values: Bindings<'_>) -> Result<usize>;
    fn query(&self, sql: &str, values: Bindings<'_>, read: &mut Read<'_>) -> Result<()>;
    fn execute_batch(&self, sql: &str) -> Result<()>;
    fn free_pages(&self, most: u32) -> Result<()>;
}

/// Reads a row, and says whether to go on.
pub(crate) type Read<'a> = dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>> + 'a;

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transaction")
    }
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(work: &'a dyn Work) -> Self {
        Self(work)
    }

    /// Returns the id of the run that this transaction belongs to: rows that it owns have this id.
    pub fn run_id(&self) -> &str {
        self.0.run_id()
    }

    /// Whether the run of this id is alive. Once false it stays false; where it cannot be determined it is true.
    ///
    /// # Errors
    /// [`Error`] where the database fails.
    pub fn is_alive(&self, run_id: &str) -> Result<bool> {
        self.0.is_alive(run_id)
    }

    /// Runs a statement. Returns the rows that it changed.
    ///
    /// # Errors
    /// [`Error`] where the database fails.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        params.with(|values| self.0.execute(sql, values))
    }

    /// Reads rows until `read` breaks.
    ///
    /// # Errors
    /// [`Error`] where the database or `read` fails.
    pub fn for_each(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        params.with(|values| self.0.query(sql, values, &mut read))
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// As [`Self::for_each`].
    pub fn query_map<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.for_each(sql, params, |row| {
            all.push(read(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    /// Reads the first row; `None` if there is none.
    ///
    /// # Errors
    /// As [`Self::for_each`].
    pub fn query_optional<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut first = None;
        self.for_each(sql, params, |row| {
            first = Some(read(row)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    /// Reads the first row.
    ///
    /// # Errors
    /// As [`Self::for_each`]; [`Error::NoRow`].
    pub fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        let first = self.query_optional(sql, params, read)?;
        first.ok_or(Error::NoRow)
    }

    /// Whether there is a row.
    ///
    /// # Errors
    /// As [`Self::for_each`].
    pub fn exists(&self, sql: &str, params: impl Params) -> Result<bool> {
        let first = self.query_optional(sql, params, |_| Ok(()))?;
        Ok(first.is_some())
    }

    /// Gives up to so many pages that are no longer used back to the file system. PostgreSQL does so by itself.
    ///
    /// # Errors
    /// [`Error`] where the database fails.
    pub fn free_pages(&self, most: u32) -> Result<()> {
        self.0.free_pages(most)
    }

    /// Runs statements without parameters.
    ///
    /// # Errors
    /// [`Error`] where the database fails.
    pub fn execute_batch(&self, sql: &str) -> Result<()> {
        self.0.execute_batch(sql)
    }
}
