//! `toolhost search`: searches the tools of an agent.

use serde_json::{Value, json};
use toolhost::{Agent, ToolCatalog, search::ToolHit};

use super::agents::{agent, with_all_tools};
use super::list::table;
use crate::args::{HitFormat, SearchArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::{HostContext, StateRoot};
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn search(args: &SearchArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (bundle, query) = args.target()?;
    let context = HostContext::open(settings, args.policy.as_deref(), StateRoot::Optional).await?;
    let bundle = context.load(bundle).await?;
    let agent = agent(&bundle, args.agent.as_deref(), settings)?;
    let catalog = with_all_tools(&bundle, settings, || agent.catalog()).await?;
    let hits = catalog.search(query, args.limit.into());
    match args.format {
        HitFormat::Json => stdout::json(&to_json(&catalog, &hits))?,
        HitFormat::Text if hits.is_empty() => {}
        HitFormat::Text => {
            let items = hits.iter().map(|hit| hit.item);
            stdout::write(&table(items, stdout::columns()))?;
        }
    }
    if hits.is_empty() {
        settings.note(&nothing(query, &agent, &catalog));
        return Ok(Exit::Refused);
    }
    Ok(Exit::Done)
}

fn to_json(catalog: &ToolCatalog, hits: &[ToolHit<'_>]) -> Value {
    let hits = hits.iter().map(|hit| {
        let mut tool = json!(hit.item);
        if let Some(keys) = tool.as_object_mut() {
            // As a f64, it would be written with digits that it does not have.
            let score = (f64::from(hit.score) * 1000.0).round() / 1000.0;
            keys.insert("score".to_owned(), score.into());
        }
        tool
    });
    json!({"searched": catalog.items().len(), "hits": hits.collect::<Vec<_>>()})
}

/// Says what was searched.
fn nothing(query: &str, agent: &Agent, catalog: &ToolCatalog) -> String {
    format!(
        "no tool fits '{}': the names, descriptions and parameters of the {} tools of the agent '{}' were searched",
        text::line(query),
        catalog.items().len(),
        agent.name()
    )
}
