//! A row of a result.

use std::fmt;

use super::value::{FromValue, ValueRef};
use super::{Error, Result};

/// A row of a result.
#[derive(Clone, Copy)]
pub struct Row<'a>(&'a dyn Columns);

/// The columns of a row, as a database gives them.
pub(crate) trait Columns {
    /// Returns the number of the column of this name.
    fn number(&self, name: &str) -> Option<usize>;

    /// Returns the value of a column; `None` for one of a type that no table of ours has.
    fn value(&self, number: usize) -> Option<ValueRef<'_>>;
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Row")
    }
}

/// What names a column: its number, from 0, or its name.
pub trait Column: fmt::Display + Copy {
    /// Returns its number, if its name is among these.
    fn number(self, find: impl FnOnce(&str) -> Option<usize>) -> Option<usize>;
}

impl Column for usize {
    fn number(self, _: impl FnOnce(&str) -> Option<usize>) -> Option<usize> {
        Some(self)
    }
}

impl Column for &str {
    fn number(self, find: impl FnOnce(&str) -> Option<usize>) -> Option<usize> {
        find(self)
    }
}

impl<'a> Row<'a> {
    pub(crate) fn new(columns: &'a dyn Columns) -> Self {
        Self(columns)
    }

    /// Reads a column.
    ///
    /// # Errors
    /// [`Error::Unreadable`] where there is no such column, or its value is of another type.
    pub fn get<T: FromValue>(&self, column: impl Column) -> Result<T> {
        let number = column.number(|name| self.0.number(name));
        let value = number.and_then(|number| self.0.value(number));
        let value = value.and_then(T::from_value);
        value.ok_or_else(|| Error::Unreadable {
            column: column.to_string(),
            source: None,
        })
    }

    /// Returns the bytes of a text, without reading it.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn text_len(&self, column: impl Column) -> Result<usize> {
        self.get::<TextLen>(column).map(|len| len.0)
    }
}

struct TextLen(usize);

impl FromValue for TextLen {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Text(text) => Some(Self(text.len())),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Blob(_) => None,
        }
    }
}
