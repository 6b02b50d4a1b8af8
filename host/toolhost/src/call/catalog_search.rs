//! Searches the catalog of a step, and reports each search as an event.

use serde_json::{Map, Value, json};
use toolhost_contract::{ToolCatalogItem, ToolError, ToolErrorCode, Usage};

use super::run::{Answer, RunEnd};
use super::scope::CallScope;
use super::validate::ValidCall;
use crate::catalog::callable::CallableTools;
use crate::catalog::exposure::ToolExposure;
use crate::catalog::search::hits::{HITS_MAX, ToolHit, bounded_query};
use crate::catalog::tool_names::is_catalog_tool;
use crate::middleware::CallIdentity;
use crate::middleware::catch_unwind::catch_unwind;

/// Tools that `tools__search` returns, if the call does not say how many.
const HITS: usize = 5;

/// Bytes of the tools that `tools__search` returns, beyond which further ones are left out. The best is always returned.
const TOOLS_BYTES: usize = 64 << 10;

/// Items of a catalog beyond which its index is made on a thread of its own.
const SMALL_CATALOG: usize = 200;

impl CallScope {
    /// Returns a filter for the tools that a model finds: those that its programs may call, if it calls tools in programs
    /// alone.
    pub(crate) fn search_filter(&self) -> impl Fn(&ToolCatalogItem) -> bool {
        let in_programs = self.turn.options.exposure == ToolExposure::Script;
        let programs = in_programs.then(|| {
            let programs = self.catalog.programs();
            let agent = self.turn.agent();
            let callable = programs.filter_map(|item| agent.callable_by(item.name.resource()));
            callable.collect::<Vec<CallableTools>>()
        });
        move |item| match &programs {
            Some(programs) => programs.iter().any(|callable| callable.admits(item)),
            None => !is_catalog_tool(item),
        }
    }

    /// Returns the tools that fit a query, the best first, of those that are admitted, and reports the search of a
    /// `call` as an event.
    pub(crate) async fn search(
        &self,
        query: &str,
        limit: usize,
        call: Option<&CallIdentity>,
        admits: impl Fn(&ToolCatalogItem) -> bool,
    ) -> Vec<ToolHit<'_>> {
        let (catalog, host) = (&self.catalog, &self.turn.agent().host);
        let query = bounded_query(query);
        let limit = limit.min(HITS_MAX);
        let ranked = match &host.ranker {
            Some(ranker) => {
                // Its hits may include those that are left out below.
                let refused = catalog.items().iter().filter(|item| !admits(item));
                let all = limit.saturating_add(refused.count());
                let ranked = async { ranker.rank(catalog, query, all).await };
                let ranked = catch_unwind(ranked).await;
                ranked
                    .inspect_err(|_| tracing::error!("the ranker of tools panicked"))
                    .ok()
            }
            None => None,
        };
        let hits = match ranked {
            Some(hits) => hits,
            None => {
                if !catalog.has_search_index() && catalog.items().len() > SMALL_CATALOG {
                    let catalog = catalog.clone();
                    let made = host
                        .sandbox
                        .threads()
                        .compute(move || catalog.prepare_search());
                    if let Err(error) = made.await {
                        tracing::warn!(%error, "a catalog is read on the thread of its caller");
                    }
                }
                catalog.search_among(query, limit, &admits)
            }
        };
        // A ranker may return items of another catalog.
        let in_catalog = |hit: ToolHit<'_>| {
            let item = catalog.get(hit.item.name.as_str())?;
            admits(item).then_some(ToolHit { item, ..hit })
        };
        let hits = hits.into_iter().filter_map(in_catalog).take(limit);
        let hits: Vec<ToolHit<'_>> = hits.collect();
        let names = hits.iter().map(|hit| &hit.item.name);
        let (turn, step_id) = (&self.turn, &self.step_id);
        let emitter = &turn.instance.emitter;
        emitter.searched(&turn.origin, step_id, call, || {
            let query = host.redactor.text(query);
            (query.into_owned(), names.cloned().collect())
        });
        hits
    }
}

/// Runs `tools__search`.
pub(super) async fn run(
    scope: &CallScope,
    identity: &CallIdentity,
    valid: ValidCall<'_>,
) -> RunEnd {
    let query = valid.args.get("query").and_then(Value::as_str);
    let limit = valid.args.get("limit").and_then(Value::as_u64);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let admits = scope.search_filter();
    let search = scope.search(
        query.unwrap_or_default(),
        limit.unwrap_or(HITS),
        Some(identity),
        &admits,
    );
    let deadline = valid.permit.limits.deadline;
    let threads = scope.turn.agent().host.sandbox.threads();
    let Some(hits) = threads.within(deadline, search).await else {
        let message = "The search did not end in time.";
        let error = ToolError::host(ToolErrorCode::Timeout, message, scope.turn.locale());
        return RunEnd::refused(error);
    };
    let items = scope.catalog.items().iter();
    let searched = items.filter(|item| admits(item)).count();
    RunEnd {
        answer: Ok(Answer::Output(output(&hits, searched))),
        usage: Usage::default(),
        has_answered: true,
        recording: None,
    }
}

/// Returns the output of `tools__search`.
fn output(hits: &[ToolHit<'_>], searched: usize) -> Value {
    let mut bytes = 0;
    let tools = hits.iter().map(|hit| described(hit.item));
    let tools = tools.take_while(|tool| {
        let is_best = bytes == 0;
        bytes += tool.to_string().len();
        is_best || bytes <= TOOLS_BYTES
    });
    let tools: Vec<Value> = tools.collect();
    let omitted = hits.len() - tools.len();
    let mut output = Map::new();
    output.insert("tools".to_owned(), tools.into());
    output.insert("searched".to_owned(), searched.into());
    if omitted > 0 {
        output.insert("omitted".to_owned(), omitted.into());
    }
    if hits.is_empty() {
        let message = "No tool fits. Say it once more in other words; if none fits then, there is no such tool.";
        output.insert("message".to_owned(), message.into());
    }
    output.into()
}

fn described(item: &ToolCatalogItem) -> Value {
    let mut tool = json!(item);
    if let Some(keys) = tool.as_object_mut() {
        keys.remove("source");
    }
    tool
}
