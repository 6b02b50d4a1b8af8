use std::fs;

use rmcp::handler::server::{router::tool::ToolRouter, wrapper::Parameters};
use rmcp::{ErrorData, Json, ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};

const OFFSET: f64 = 32.0;

#[derive(Deserialize, schemars::JsonSchema)]
struct Convert {
    /// Degrees.
    #[schemars(range(min = -273.15, max = 10_000.0))]
    value: f64,
    /// From Celsius, or to it.
    direction: Direction,
}

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

#[derive(Deserialize, schemars::JsonSchema)]
struct Count {
    /// Path of the file.
    path: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Counts {
    lines: usize,
    words: usize,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Search {
    /// Path of the file.
    path: String,
    /// Text that a line contains.
    #[schemars(length(min = 1))]
    text: String,
    /// How many at most.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
}

fn ten() -> usize {
    10
}

#[derive(Serialize, schemars::JsonSchema)]
struct Match {
    line: usize,
    text: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Matches {
    matches: Vec<Match>,
}

struct Bench {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Bench {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Converts a temperature.")]
    fn convert(&self, Parameters(Convert { value, direction }): Parameters<Convert>) -> Json<Temperature> {
        Json(match direction {
            Direction::CToF => Temperature { value: value * 1.8 + OFFSET, unit: "F".into() },
            Direction::FToC => Temperature { value: (value - OFFSET) / 1.8, unit: "C".into() },
        })
    }

    #[tool(description = "Counts the lines and words of a text file.")]
    fn count(&self, Parameters(Count { path }): Parameters<Count>) -> Result<Json<Counts>, ErrorData> {
        let text = read(&path)?;
        Ok(Json(Counts { lines: text.lines().count(), words: text.split_whitespace().count() }))
    }

    #[tool(description = "Searches the lines of a text file.")]
    fn search(
        &self,
        Parameters(Search { path, text, limit }): Parameters<Search>,
    ) -> Result<Json<Matches>, ErrorData> {
        let content = read(&path)?;
        let lines = content.lines().enumerate().filter(|(_, line)| line.contains(&text));
        let matches = lines.map(|(index, line)| Match { line: index + 1, text: line.to_owned() });
        Ok(Json(Matches { matches: matches.take(limit).collect() }))
    }
}

fn read(path: &str) -> Result<String, ErrorData> {
    fs::read_to_string(path).map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}

#[tool_handler]
impl ServerHandler for Bench {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Bench::new().serve(rmcp::transport::stdio()).await?;
    service.waiting().await?;
    Ok(())
}
