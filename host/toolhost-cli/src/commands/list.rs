//! `toolhost list`: what an agent is shown.

use toolhost::ToolCatalog;

use super::agent;
use crate::args::{Format, ListArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::house::{House, StateRoot};
use crate::setting::Setting;
use crate::{output, plain};

/// Lists the catalog of an agent's step.
pub(crate) async fn list(args: &ListArgs, setting: &Setting) -> Result<Exit, Failure> {
    let house = House::open(setting, None, StateRoot::Optional).await?;
    let bundle = house.load(&args.bundle).await?;
    let agent = agent(&bundle, args.agent.as_deref(), setting)?;
    let catalog = agent.catalog();
    match args.format() {
        Some(Format::Json) => output::json(&catalog.to_json())?,
        Some(Format::Openai) => output::json(&catalog.to_openai())?,
        Some(Format::Anthropic) => output::json(&catalog.to_anthropic())?,
        Some(Format::Mcp) => output::json(&catalog.to_mcp())?,
        None if catalog.items().is_empty() => {
            setting.note(&format!("the agent '{}' is shown no tools", agent.name()));
        }
        None => output::write(&table(&catalog, output::columns()))?,
    }
    Ok(Exit::Done)
}

/// Names and the first lines of descriptions, one tool per line.
fn table(catalog: &ToolCatalog, columns: Option<usize>) -> String {
    let names = catalog.items().iter().map(|item| item.name.as_str());
    let widest = names.map(str::len).max().unwrap_or(0);
    let row = |item: &toolhost::ToolCatalogItem| {
        let description = item.description.as_deref().unwrap_or_default();
        let description = plain::line(description.lines().next().unwrap_or_default());
        let row = format!("{:<widest$}  {description}", item.name.as_str());
        match columns {
            Some(columns) => plain::cut(row.trim_end(), columns),
            None => row.trim_end().to_owned(),
        }
    };
    let rows: Vec<String> = catalog.items().iter().map(row).collect();
    rows.join("\n")
}
