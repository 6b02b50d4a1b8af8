//! `toolhost list`: lists the tools of an agent.

use toolhost::ToolCatalogItem;

use super::agents::{agent, with_all_tools};
use crate::args::{Format, ListArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::{HostContext, StateRoot};
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn list(args: &ListArgs, settings: &Settings) -> Result<Exit, Failure> {
    let context = HostContext::open(settings, args.policy.as_deref(), StateRoot::Optional).await?;
    let bundle = context.load(&args.bundle).await?;
    let agent = agent(&bundle, args.agent.as_deref(), settings)?;
    let catalog = with_all_tools(&bundle, settings, || agent.catalog()).await?;
    match args.format() {
        Some(Format::Json) => stdout::json(&catalog.to_json())?,
        Some(Format::Openai) => stdout::json(&catalog.to_openai())?,
        Some(Format::Anthropic) => stdout::json(&catalog.to_anthropic())?,
        Some(Format::Gemini) => stdout::json(&catalog.to_gemini())?,
        Some(Format::Mcp) => stdout::json(&catalog.to_mcp())?,
        None if catalog.items().is_empty() => {
            settings.note(&format!("the agent '{}' has no tools", agent.name()));
        }
        None => stdout::write(&table(catalog.items().iter(), stdout::columns()))?,
    }
    Ok(Exit::Done)
}

/// Lists names and first lines of descriptions, one tool per line.
pub(super) fn table<'c>(
    items: impl Iterator<Item = &'c ToolCatalogItem> + Clone,
    columns: Option<usize>,
) -> String {
    let names = items.clone().map(|item| item.name.as_str());
    let widest = names.map(str::len).max().unwrap_or(0);
    let row = |item: &ToolCatalogItem| {
        let description = item.description.as_deref().unwrap_or_default();
        let description = text::line(description.lines().next().unwrap_or_default());
        let row = format!("{:<widest$}  {description}", item.name.as_str());
        match columns {
            Some(columns) => text::cut(row.trim_end(), columns),
            None => row.trim_end().to_owned(),
        }
    };
    let rows: Vec<String> = items.map(row).collect();
    rows.join("\n")
}
