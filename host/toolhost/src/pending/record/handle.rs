//! Handles of pending calls.

use toolhost_store::rusqlite::types::ToSqlOutput;
use toolhost_store::rusqlite::{self, ToSql};
use toolhost_store::{is_random_text, random_text};

/// Prefix of every handle.
const PREFIX: &str = "pending_";

/// Random letters of a handle: 160 bits.
const LETTERS: usize = 32;

/// Handle of a pending call: `pending_` and 160 random bits in base32. It cannot be guessed, and only
/// the owner of the record can use it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Handle(String);

impl Handle {
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        Ok(Self(format!("{PREFIX}{}", random_text::<LETTERS>()?)))
    }

    /// Parses a handle. Returns `None` if the text does not have the form of a handle.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let letters = text.strip_prefix(PREFIX)?;
        is_random_text::<LETTERS>(letters).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl ToSql for Handle {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}
