//! The contract's types and traits, made from wit/ by `tests/bindings.rs`.
//!
//! Of three worlds, with the same types, a component exports what its crate expands the `export!` of; of `modes` and
//! `tools` it imports what it calls. The files are in the repository because the macro that would make them in every build
//! takes half a minute to compile.

#[rustfmt::skip]
pub mod modes;
#[rustfmt::skip]
pub mod outputs;
#[rustfmt::skip]
pub mod polling;
#[rustfmt::skip]
pub mod tool;
#[rustfmt::skip]
pub mod tools;
