use std::fs;

use serde::{Deserialize, Serialize};
use toolhost_guest::{ToolError, handlers, schemars, tool};

handlers! { convert, count, search }

const OFFSET: f64 = 32.0;

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Direction {
    CToF,
    FToC,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Temperature {
    value: f64,
    unit: String,
}

/// Converts a temperature.
#[tool]
fn convert(
    /// Degrees.
    #[schemars(range(min = -273.15, max = 10_000.0))]
    value: f64,
    /// From Celsius, or to it.
    direction: Direction,
) -> Temperature {
    match direction {
        Direction::CToF => Temperature { value: value * 1.8 + OFFSET, unit: "F".into() },
        Direction::FToC => Temperature { value: (value - OFFSET) / 1.8, unit: "C".into() },
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct Counts {
    lines: usize,
    words: usize,
}

/// Counts the lines and words of a text file.
#[tool]
fn count(
    /// Path of the file.
    path: &str,
) -> Result<Counts, ToolError> {
    let text = fs::read_to_string(path)?;
    Ok(Counts { lines: text.lines().count(), words: text.split_whitespace().count() })
}

#[derive(Serialize, schemars::JsonSchema)]
struct Match {
    line: usize,
    text: String,
}

/// Searches the lines of a text file.
#[tool]
fn search(
    /// Path of the file.
    path: &str,
    /// Text that a line contains.
    #[schemars(length(min = 1))]
    text: &str,
    /// How many at most.
    #[tool(default = 10)]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
) -> Result<Vec<Match>, ToolError> {
    let content = fs::read_to_string(path)?;
    let lines = content.lines().enumerate().filter(|(_, line)| line.contains(text));
    let matches = lines.map(|(index, line)| Match { line: index + 1, text: line.to_owned() });
    Ok(matches.take(limit).collect())
}
