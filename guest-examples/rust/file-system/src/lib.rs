//! The `file-system` tool: reads, writes, lists and makes files and folders of the workdir.
//!
//! The host gives a tool one folder as `/`, so `std::fs` just works and cannot leave it: a path
//! with `..` or a link that leads out is refused by the host, not here.

use serde::de::DeserializeOwned;

mod describe;
mod failure;
mod list;
mod mkdir;
mod path;
mod read;
mod write;

wit_bindgen::generate!({ path: "../../../wit", world: "tool", generate_all });

use exports::goondan::tool::handlers::Guest;
use goondan::tool::types::{ExportSpec, Outcome, ToolContext, ToolError};

struct FileSystem;
export!(FileSystem);

impl Guest for FileSystem {
    fn describe() -> Vec<ExportSpec> {
        describe::handlers()
    }

    fn call(name: String, _context: ToolContext, input: String) -> Result<Outcome, ToolError> {
        let output = match name.as_str() {
            "read" => read::read(&parse(&input)?)?,
            "write" => write::write(&parse(&input)?)?,
            "list" => list::list(&parse(&input)?)?,
            "mkdir" => mkdir::mkdir(&parse(&input)?)?,
            _ => return Err(failure::unknown_handler(&name)),
        };
        Ok(Outcome::Output(output.to_string()))
    }
}

/// Reads the input, which the host has already checked against the manifest's parameters.
fn parse<T: DeserializeOwned>(input: &str) -> Result<T, ToolError> {
    serde_json::from_str(input).map_err(|reason| failure::invalid_input(&reason))
}
