//! Calls whose files are changed directly and in transactions.

mod alike;
mod held;
mod limits;
mod modes;
mod sessions;
mod side;
