//! Work in a transaction of SQLite.

use rusqlite::types::{ToSqlOutput, ValueRef as SqliteValue};

use crate::lease::Lease;
use crate::sql::{Bindings, Columns, Read, Result, Row, ValueRef, Work};

/// A transaction, and the lease of the run that it belongs to.
pub(crate) struct SqliteWork<'a> {
    pub(crate) tx: &'a rusqlite::Transaction<'a>,
    pub(crate) lease: &'a dyn Lease,
}

impl Work for SqliteWork<'_> {
    fn run_id(&self) -> &str {
        self.lease.run_id()
    }

    fn is_alive(&self, run_id: &str) -> Result<bool> {
        Ok(self.lease.is_alive(run_id))
    }

    fn execute(&self, sql: &str, values: Bindings<'_>) -> Result<usize> {
        let mut statement = self.tx.prepare_cached(sql)?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()?)
    }

    fn query(&self, sql: &str, values: Bindings<'_>, read: &mut Read<'_>) -> Result<()> {
        let mut statement = self.tx.prepare_cached(sql)?;
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if read(&Row::new(row))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn execute_batch(&self, sql: &str) -> Result<()> {
        Ok(self.tx.execute_batch(sql)?)
    }

    fn free_pages(&self, most: u32) -> Result<()> {
        let done = self.tx.pragma(None, "incremental_vacuum", most, |_| Ok(()));
        Ok(done?)
    }
}

fn bind(statement: &mut rusqlite::Statement<'_>, values: Bindings<'_>) -> rusqlite::Result<()> {
    match values {
        Bindings::Positional(values) => {
            let expected = statement.parameter_count();
            if values.len() != expected {
                let error = rusqlite::Error::InvalidParameterCount;
                return Err(error(values.len(), expected));
            }
            for (index, value) in values.iter().enumerate() {
                statement.raw_bind_parameter(index + 1, value)?;
            }
        }
        Bindings::Named(values) => {
            for (name, value) in values {
                let index = statement.parameter_index(name)?;
                let unknown = || rusqlite::Error::InvalidParameterName((*name).to_owned());
                statement.raw_bind_parameter(index.ok_or_else(unknown)?, value)?;
            }
        }
    }
    Ok(())
}

impl Columns for rusqlite::Row<'_> {
    fn number(&self, name: &str) -> Option<usize> {
        self.as_ref().column_index(name).ok()
    }

    fn value(&self, number: usize) -> Option<ValueRef<'_>> {
        match self.get_ref(number).ok()? {
            SqliteValue::Null => Some(ValueRef::Null),
            SqliteValue::Integer(number) => Some(ValueRef::Integer(number)),
            SqliteValue::Text(text) => std::str::from_utf8(text).ok().map(ValueRef::Text),
            SqliteValue::Blob(bytes) => Some(ValueRef::Blob(bytes)),
            SqliteValue::Real(_) => None,
        }
    }
}

impl rusqlite::ToSql for ValueRef<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => SqliteValue::Null,
            Self::Integer(number) => SqliteValue::Integer(number),
            Self::Text(text) => SqliteValue::Text(text.as_bytes()),
            Self::Blob(bytes) => SqliteValue::Blob(bytes),
        }))
    }
}
