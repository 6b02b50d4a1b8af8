//! Properties that hold for every input. Each fuzz target checks one; it panics if it does not hold.

pub mod args;
pub mod bundle;
pub mod component;
pub mod names;
pub mod outcome;
pub mod policy;

mod cost;
mod display;
mod findings;

/// Separates the parts of an input.
const BETWEEN: &str = "\n--\n";
