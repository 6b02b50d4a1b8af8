//! The methods `bundle/load`, `bundle/unload`, `agents/list` and `catalog/get`.

use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::{Agent, LoadedBundle};

use crate::catalog_format::CatalogFormat;
use crate::config::RpcConfig;
use crate::error::RpcError;
use crate::instances::agent;
use crate::session::Session;

/// `{"path"}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadParams {
    path: String,
}

/// `{"bundle"}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnloadParams {
    bundle: String,
}

/// `{"bundle"?}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentsParams {
    bundle: Option<String>,
}

/// `{"bundle"?, "agent"?, "format"?}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogParams {
    bundle: Option<String>,
    agent: Option<String>,
    #[serde(default)]
    format: CatalogFormat,
}

/// Loads a bundle: `{"bundle", "agents", "diagnostics"}`.
pub(super) async fn load(session: &Session, params: LoadParams) -> Result<Value, RpcError> {
    let (id, bundle) = session.bundles.load(&params.path, &session.config).await?;
    Ok(json!({
        "bundle": id,
        "agents": agents_of(&bundle, &session.config)?,
        "diagnostics": bundle.diagnostics(),
    }))
}

pub(super) fn unload(session: &Session, params: &UnloadParams) -> Result<Value, RpcError> {
    session.bundles.unload(&params.bundle)?;
    Ok(json!({}))
}

/// Lists the agents: `{"agents": [{"name", "tools", "requiredTools"}]}`.
pub(super) fn agents(session: &Session, params: &AgentsParams) -> Result<Value, RpcError> {
    let bundle = session
        .bundles
        .get(params.bundle.as_deref(), &session.config)?;
    Ok(json!({"agents": agents_of(&bundle, &session.config)?}))
}

/// Returns the tools with which an agent's next step starts: `{"agent", "tools"}`.
pub(super) fn catalog(session: &Session, params: &CatalogParams) -> Result<Value, RpcError> {
    let config = &session.config;
    let bundle = session.bundles.get(params.bundle.as_deref(), config)?;
    let agent = agent(&bundle, params.agent.as_deref(), config)?;
    let tools = params.format.export(&agent.exposed(config.tools));
    Ok(json!({"agent": agent.name(), "tools": tools}))
}

/// The agents that a client may use.
fn agents_of(bundle: &LoadedBundle, config: &RpcConfig) -> Result<Value, RpcError> {
    Ok(match &config.agent {
        Some(name) => json!([described(&bundle.agent(name)?, config)]),
        None => {
            let agents = bundle.agents().iter();
            agents.map(|agent| described(agent, config)).collect()
        }
    })
}

fn described(agent: &Agent, config: &RpcConfig) -> Value {
    let catalog = agent.exposed(config.tools);
    let tools: Vec<&str> = catalog
        .items()
        .iter()
        .map(|item| item.name.as_str())
        .collect();
    let required: Vec<&str> = agent
        .required_tools()
        .iter()
        .map(|name| name.as_str())
        .collect();
    json!({"name": agent.name(), "tools": tools, "requiredTools": required})
}
