//! jq 1.7: the language, and its command line as a function of bytes.
//!
//! Nothing here reads a file, a clock or an environment: [`Surroundings`] and [`cli::Files`] give what a program asks
//! for. The language is the one of jq 1.7.1, with the filters that 1.8 adds.

mod access;
mod ast;
pub mod cli;
mod env;
mod eval;
mod fault;
mod ir;
pub mod json;
mod lex;
mod natives;
mod number;
mod object;
mod parse;
mod prelude;
mod program;
mod regex;
mod resolve;
mod value;

pub use eval::Surroundings;
pub use fault::Stop;
pub use number::parse as parse_number;
pub use object::Object;
pub use program::{Program, Rejected};
pub use value::Val;
