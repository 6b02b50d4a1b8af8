//! What holds of every input. A fuzz target is one of these; each panics where it does not hold.

pub mod args;
pub mod bundle;
pub mod component;
pub mod names;
pub mod outcome;
pub mod policy;

mod cost;
mod findings;
mod shown;

/// Between the parts of an input that has several.
const BETWEEN: &str = "\n--\n";
