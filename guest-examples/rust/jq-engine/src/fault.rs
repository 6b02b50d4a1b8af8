//! Why filters end early. An error is a value, which `try` can catch.

use std::rc::Rc;

use crate::json::excerpt;
use crate::value::Val;

/// Why a filter ended early.
#[derive(Debug)]
pub enum Stop {
    /// An error that `try` can catch.
    Error(Val),
    /// `break` to the label of this number.
    Break(u64),
    /// `halt` and `halt_error`: the exit code, and what goes to stderr.
    Halt(i32, Option<Val>),
    /// Filters are nested too deep; nothing catches it.
    TooDeep,
    /// The receiver wants no more results.
    Enough,
}

impl From<Val> for Stop {
    fn from(error: Val) -> Self {
        Self::Error(error)
    }
}

pub(crate) type Flow = Result<(), Stop>;

pub(crate) fn error(message: impl Into<String>) -> Val {
    Val::from(message.into())
}

pub(crate) fn object_key(key: &Val) -> Result<Rc<str>, Val> {
    match key {
        Val::Str(text) => Ok(Rc::clone(text)),
        key => Err(error(format!(
            "Cannot use {} ({}) as object key",
            key.kind(),
            excerpt(key, 14)
        ))),
    }
}
