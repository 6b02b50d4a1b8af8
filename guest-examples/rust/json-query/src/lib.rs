//! The `json-query` tool: runs jq queries on JSON.
//!
//! Models know jq, and one line of it selects, counts, groups and renames: less is read into the
//! model's context than by reading the file.

use toolhost_guest::{handlers, json};

mod fault;
mod formats;
#[cfg(target_family = "wasm")]
mod free_lists;
mod query;
mod source;

handlers! {
    "query" => query::query {
        description: "Runs a jq 1.7 query on JSON, JSON Lines, YAML, TOML, CSV or TSV: a file of the workdir, or a text",
        parameters: json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "jq, such as .items[] | select(.price > 10) | .name" },
                "path": { "type": "string", "description": "The file, relative to the workdir" },
                "json": { "type": "string", "description": "The text itself, instead of a file" },
                "inputFormat": { "enum": ["json", "yaml", "toml", "csv", "tsv", "text"], "description": "Format of the document (default json). csv and tsv: an array of objects of strings, by the names in the first row. text: each line is a string" },
                "slurp": { "type": "boolean", "description": "All values as one array; of text, all as one string" },
                "nullInput": { "type": "boolean", "description": "Run once on null; `input` and `inputs` read the values" },
                "args": { "type": "object", "description": "Variables: {\"name\": value} is $name" },
                "outputFormat": { "enum": ["json", "yaml", "toml", "csv", "tsv", "text"], "description": "Return the results as one text in this format. text: strings without quotes" },
                "sortKeys": { "type": "boolean", "description": "Sort the keys of objects" },
                "compact": { "type": "boolean", "description": "One line for each result of outputFormat json" },
                "maxResults": { "type": "integer", "minimum": 1, "maximum": 100_000, "description": "Most results to return (default 1000)" },
                "maxBytes": { "type": "integer", "minimum": 1, "maximum": 900_000, "description": "Most bytes of results (default 100000)" },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
    },
}
