//! Write a tool for AI agents in Rust: plain functions in, a WASI component out.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use toolhost_guest::{Context, ToolError};
//!
//! #[derive(Deserialize)]
//! struct Input {
//!     path: String,
//! }
//!
//! #[derive(Serialize)]
//! struct Output {
//!     lines: usize,
//! }
//!
//! fn count(_: &Context, input: Input) -> Result<Output, ToolError> {
//!     let text = std::fs::read_to_string(&input.path)
//!         .map_err(|error| ToolError::from(error).at(&input.path))?;
//!     Ok(Output { lines: text.lines().count() })
//! }
//!
//! toolhost_guest::handlers! {
//!     "count" => count { description: "Counts the lines of a file" },
//! }
//! # fn main() {}
//! ```
//!
//! The crate becomes a component when its `crate-type` is `cdylib` and its target `wasm32-wasip2`.
//! Handlers are ordinary functions: `cargo test` calls them on the machine they are written on, with
//! [`Context::default`].
//!
//! A panic ends the call with an error whose message is the panic's line. `std::fs` sees the workdir
//! as `/`, [`files`] has their permissions; there is no network, no environment, no process and no second thread.

// The macro's bindings must be able to name this crate from anywhere, its own tests too.
extern crate self as toolhost_guest;

mod bindings;
mod context;
mod error;
pub mod files;
mod handler;
mod handlers;
mod integers;
mod log;
mod outcome;
mod place;

pub use serde_json::{Value, json};

pub use context::Context;
pub use error::ToolError;
pub use handler::Handler;
pub use log::Logger;
pub use outcome::{IntoOutcome, Outcome};

/// What [`handlers!`] expands to; not for use by hand.
#[doc(hidden)]
pub mod expanded {
    pub use crate::bindings::tool::goondan::tool::types;
    pub use crate::bindings::{polling, tool};
    pub use crate::handlers::{cancel, poll, run, unknown};
    pub use wit_bindgen;
}
