//! The agents of the loaded bundle: what they may use, and calls by hand.

use std::time::{SystemTime, UNIX_EPOCH};

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolhost::budgets::BudgetUse;
use toolhost::{Agent, Host, LoadedBundle, ToolCall, TurnStart, instances};

use crate::failure::Failure;
use crate::page::PageInner;
use crate::root::blocking;

/// The instance of calls by hand, unless another one is named.
const INSTANCE: &str = "watch";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallBody {
    tool: String,
    args: Map<String, Value>,
    instance: Option<String>,
}

fn bundle(page: &PageInner) -> Result<LoadedBundle, Failure> {
    let bundle = page.bundle.as_ref().map(|bundle| bundle.current());
    bundle.ok_or_else(|| {
        Failure::not_found("no bundle is loaded").hint("`toolhost watch --bundle DIR` loads one.")
    })
}

pub(super) fn list(page: &PageInner) -> Value {
    let bundle = page.bundle.as_ref().map(|bundle| bundle.current());
    let agents = bundle
        .as_ref()
        .map(|bundle| bundle.agents())
        .unwrap_or_default();
    let agents = agents.iter().map(agent);
    json!({ "agents": agents.collect::<Vec<_>>() })
}

fn agent(agent: &Agent) -> Value {
    let catalog = agent.catalog();
    let tools = catalog.items().iter().map(|item| {
        json!({
            "name": item.name,
            "description": item.description,
            "parameters": item.parameters,
        })
    });
    let policy = catalog
        .items()
        .iter()
        .map(|item| json!({"tool": item.name, "lines": agent.access_in_words(item)}));
    json!({
        "name": agent.name(),
        "tools": tools.collect::<Vec<_>>(),
        "policy": policy.collect::<Vec<_>>(),
    })
}

/// Calls a tool as its agent would: under its policy, in its catalog, with all that is kept of a call.
pub(super) async fn call(page: &PageInner, name: &str, body: &[u8]) -> Result<Value, Failure> {
    let body: CallBody = serde_json::from_slice(body)
        .map_err(|error| Failure::invalid(format!("the call cannot be read: {error}")))?;
    let bundle = bundle(page)?;
    let agent = bundle
        .agent(name)
        .map_err(|error| Failure::not_found(error.to_string()))?;
    let key = body
        .instance
        .as_deref()
        .filter(|key| !key.is_empty())
        .unwrap_or(INSTANCE);
    let cannot =
        |error: &dyn std::error::Error| Failure::new(StatusCode::CONFLICT, error.to_string());
    let workdir = match &page.workdir {
        Some(workdir) => workdir.clone(),
        None => bundle
            .instance_workspace(key)
            .map_err(|error| cannot(&error))?,
    };
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let id = format!("watch-{}", since.as_nanos());
    let turn = agent
        .instance(key, workdir)
        .open_turn(TurnStart::new(&id))
        .await;
    let turn = turn.map_err(|error| cannot(&error))?;
    let step = turn.open_step().await.map_err(|error| cannot(&error))?;
    let call = ToolCall::new(&id, &body.tool, body.args);
    let result = step.execute_without_message(call).await;
    step.close(Value::Null)
        .await
        .map_err(|error| cannot(&error))?;
    turn.close(Value::Null)
        .await
        .map_err(|error| cannot(&error))?;
    let number = number(page, &bundle.host(), &id).await?;
    Ok(json!({"result": result, "id": number}))
}

/// Returns the number under which the call is kept.
async fn number(page: &PageInner, host: &Host, id: &str) -> Result<Option<u64>, Failure> {
    host.events().flush().await;
    let Some(log) = (match page.roots.first() {
        Some(root) => root.calls().await?,
        None => None,
    }) else {
        return Ok(None);
    };
    let mut query = toolhost::calls::CallQuery::default();
    query.call_id = Some(id.to_owned());
    Ok(log.search(query).await?.calls.first().map(|call| call.id))
}

/// Returns what the calls of the loaded bundle have used of the policy's budgets.
pub(super) async fn budgets(page: &PageInner) -> Result<Value, Failure> {
    let Ok(bundle) = bundle(page) else {
        return Ok(json!({
            "budgets": [],
            "why": "the policy that has the budgets is not loaded: `toolhost watch --bundle DIR --policy FILE`",
        }));
    };
    let host = bundle.host();
    let Some(root) = host.state_root().map(ToOwned::to_owned) else {
        return Ok(json!({"budgets": [], "why": "the host has no state root"}));
    };
    let (policy, source) = (host.policy().clone(), bundle.source().to_owned());
    let uses = blocking(move || instances::budgets(&root, &policy, &source)).await?;
    let uses = uses.map_err(|error| Failure::internal(&error))?;
    let uses: Vec<Value> = uses.iter().map(BudgetUse::to_value).collect();
    Ok(json!({ "budgets": uses }))
}
