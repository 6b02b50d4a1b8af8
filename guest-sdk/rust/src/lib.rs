//! Write a tool for AI agents in Rust: plain functions in, a WASI component out.
//!
//! ```
//! use serde::Serialize;
//! use toolhost_guest::{ToolError, handlers, schemars, tool};
//!
//! /// Counts the lines of a file.
//! #[tool]
//! fn count(
//!     /// Path relative to the workdir.
//!     path: &str,
//! ) -> Result<Counts, ToolError> {
//!     let text = std::fs::read_to_string(path).map_err(|error| ToolError::from(error).at(path))?;
//!     Ok(Counts { lines: text.lines().count() })
//! }
//!
//! #[derive(Serialize, schemars::JsonSchema)]
//! struct Counts {
//!     lines: usize,
//! }
//!
//! handlers! { count }
//! # fn main() {}
//! ```
//!
//! The name, the description and the schemas of a tool come from its function: see [`#[tool]`](tool).
//!
//! The crate becomes a component when its `crate-type` is `cdylib` and its target `wasm32-wasip2`.
//! Tools are ordinary functions: `cargo test` calls them on the machine they are written on, with
//! [`Context::default`].
//!
//! A panic ends the call with an error whose message is the panic's line. `std::fs` sees the workdir
//! as `/`, [`files`] has their permissions; there is no network, no environment, no process and no second thread.

// The macro's bindings must be able to name this crate from anywhere, its own tests too.
extern crate self as toolhost_guest;

mod bindings;
mod boxed;
mod context;
mod error;
pub mod files;
mod handler;
mod handlers;
mod integers;
mod log;
mod outcome;
mod place;
mod schema;
mod text;
pub mod tools;
mod typed;

/// For `#[derive(JsonSchema)]` on the types of tools: import it as `use toolhost_guest::schemars`. A package that needs
/// one of its features, such as those for chrono and uuid, names it in Cargo.toml.
pub use schemars;
/// For `#[serde(crate = "toolhost_guest::serde")]`. A package with types of its own names serde in Cargo.toml instead.
pub use serde;
pub use serde_json::{Value, json};
/// Makes a handler of a function, with a name, a description and schemas that come from its code.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use toolhost_guest::{Context, ToolError, handlers, schemars, tool};
///
/// /// Finds notes.
/// #[tool]
/// fn search(
///     ctx: &Context,
///     /// Words that a note contains.
///     words: &str,
///     /// How many notes to return.
///     #[tool(default = 10)]
///     #[schemars(range(min = 1, max = 100))]
///     limit: u32,
///     /// Only notes of this kind.
///     kind: Option<Kind>,
/// ) -> Result<Notes, ToolError> {
///     ctx.logger().info(format_args!("searching for {words}"));
///     // …
///     # let _ = (limit, kind);
///     Ok(Notes { paths: Vec::new() })
/// }
///
/// #[derive(Deserialize, schemars::JsonSchema)]
/// #[serde(rename_all = "lowercase")]
/// enum Kind {
///     Task,
///     Idea,
/// }
///
/// #[derive(Serialize, schemars::JsonSchema)]
/// struct Notes {
///     paths: Vec<String>,
/// }
///
/// handlers! { search }
/// # fn main() {}
/// ```
///
/// # What the model reads
///
/// - The name is that of the function, or `#[tool(name = "…")]`.
/// - The description is its doc comment up to a heading, or `#[tool(description = "…")]`.
/// - The parameters are the arguments, and their descriptions are doc comments. An `Option` may be left out or null. One
///   with `#[tool(default)]` has the default of its type, and one with `#[tool(default = 10)]` that value. The attributes
///   of [serde](https://serde.rs/field-attrs.html) and [schemars](https://docs.rs/schemars) work as on a field.
///   `&Context` is not a parameter, and stands where you like. `&str`, `&[T]` and `&Path` are arguments too.
/// - A single argument called `input`, or taken apart by a pattern, is all the arguments: `input: Search`, where `Search`
///   derives `Deserialize` and `JsonSchema`.
/// - The function returns what serde can write, a `Result` of it, or an [`Outcome`]. If that is an object, its schema is
///   the handler's `outputSchema`.
///
/// The schema is made when the host asks for it; a call does not pay for it.
///
/// The attribute adds a type with the name of the function, which [`handlers!`] looks up. So a module of the same name
/// cannot be beside it: write `handlers! { search::search }` instead of `use search::search`.
///
/// # What cannot be said
///
/// A type without a schema is an error of the compiler, at the argument:
///
/// ```compile_fail
/// #[toolhost_guest::tool]
/// fn run(callback: fn()) {}
/// # fn main() {}
/// ```
pub use toolhost_guest_macros::tool;

pub use context::Context;
pub use error::ToolError;
pub use handler::Handler;
pub use log::Logger;
pub use outcome::{IntoOutcome, Outcome};

/// What [`handlers!`] expands to; not for use by hand.
#[doc(hidden)]
pub mod expanded {
    pub use crate::bindings::tool::goondan::tool::types;
    pub use crate::bindings::{outputs, polling, tool};
    pub use crate::handler::output;
    pub use crate::handlers::{cancel, new_name, parse, poll, run, unknown};
    pub use crate::typed::{Answer, Returned, ReturnedValue, Tool, call, describe};
    pub use toolhost_guest_macros::unique;
    pub use wit_bindgen;
}
