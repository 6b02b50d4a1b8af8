//! The filters that are functions of values.

pub(crate) mod arithmetic;
mod arrays;
mod formats;
pub(crate) mod matching;
mod math;
mod texts;
mod time;

use crate::value::Val;

/// A filter: its input and its arguments give one result or an error.
#[derive(Debug)]
pub(crate) struct Native {
    pub(crate) name: &'static str,
    pub(crate) arity: usize,
    pub(crate) run: Run,
}

pub(crate) type Run = fn(Val, &[Val]) -> Result<Val, Val>;

/// An entry of a table.
const fn native(name: &'static str, arity: usize, run: Run) -> Native {
    Native { name, arity, run }
}

pub(crate) fn all() -> impl Iterator<Item = &'static Native> {
    [arrays::TABLE, texts::TABLE, math::TABLE, time::TABLE]
        .into_iter()
        .flatten()
}

pub(crate) fn find(name: &str, arity: usize) -> Option<&'static Native> {
    all().find(|native| native.arity == arity && native.name == name)
}
