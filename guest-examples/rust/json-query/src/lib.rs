//! The `json-query` tool: runs jq queries on JSON.
//!
//! Models know jq, and one line of it selects, counts, groups and renames: less is read into the
//! model's context than by reading the file.

use toolhost_guest::{handlers, json};

mod document;
mod fault;
#[cfg(target_family = "wasm")]
mod free_lists;
mod program;
mod query;

handlers! {
    "query" => query::query {
        description: "Runs a jq query on JSON: a file of the workdir (also JSON Lines), or a text",
        parameters: json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "jq, such as .items[] | select(.price > 10) | .name" },
                "path": { "type": "string", "description": "The JSON file, relative to the workdir" },
                "json": { "type": "string", "description": "The JSON text itself, instead of a file" },
                "maxResults": { "type": "integer", "minimum": 1, "maximum": 100_000, "description": "Most results to return (default 1000)" },
                "maxBytes": { "type": "integer", "minimum": 1, "maximum": 900_000, "description": "Most bytes of results (default 100000)" },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
    },
}
