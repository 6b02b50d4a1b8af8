//! Compares the tools of a bundle, and what the policy grants, with its lock.

mod grants;

use std::collections::{BTreeMap, BTreeSet};

use toolhost_contract::{Limits, ResourceName, ToolErrorCode, text};
use toolhost_manifest::bundle::{Diagnostic, IMPLICIT_AGENT, OpenBundle, Place};
use toolhost_manifest::lock::{
    AGENT, Annotations, Drift, Grade, Lock, LockedServer, LockedTool, ServerLock,
};
use toolhost_manifest::policy::Policy;

use super::register::LoadedParts;
use crate::agent::tool_access::ToolAccess;
use crate::loaded_bundle::GrantedMcpServer;

/// Returns the lock that describes the tools and the grants as they are, without the words of MCP servers.
pub(super) fn now(
    policy: &Policy,
    open: &OpenBundle,
    parts: &LoadedParts,
    servers: &[GrantedMcpServer],
) -> Lock {
    let mut lock = Lock::new();
    for server in servers {
        let locked = LockedServer {
            grants: grants::of_server(server),
            ..LockedServer::default()
        };
        let name = server.resource.metadata.name.to_string();
        lock.mcp_servers.insert(name, locked);
    }
    for agent in agents(open) {
        let sentences = grants::of_agent(policy, &agent);
        if !sentences.is_empty() {
            lock.agents.insert(agent, sentences);
        }
    }
    for tool in open.bundle().tools() {
        let name = tool.metadata.name.as_str();
        let mut components = parts.components.iter();
        let Some((_, facts)) = components.find(|(component, _)| component == name) else {
            continue;
        };
        let words = parts.words.iter().filter(|(of, ..)| of == name);
        let mut packages = parts.packages.iter();
        let package = packages.find(|(of, _)| *of == tool.metadata.name);
        let signers = package.map(|(_, package)| package.signers.clone());
        let signers = signers.unwrap_or_default();
        let mut locked = LockedTool {
            source: tool.spec.entry.clone(),
            component: format!("sha256:{}", facts.sha256),
            imports: facts.imports.clone(),
            exports: facts.exports.clone(),
            signer: signers.first().cloned(),
            accepted_signers: signers,
            words: words
                .map(|(_, tool, words)| (tool.clone(), words.clone()))
                .collect(),
            ..LockedTool::default()
        };
        for agent in agents_with(open, &tool.metadata.name) {
            let (grants, limits) = policy.resolve(&agent, &tool.metadata.name);
            let asks_agents = policy.grants_agents(&agent, &tool.metadata.name);
            let calls_tools = policy.callable_tools(&agent, &tool.metadata.name).is_some();
            let access = ToolAccess::of(&facts.imports, &grants, (asks_agents, calls_tools));
            let annotations = Annotations {
                read_only_hint: access.is_read_only(),
                open_world_hint: access.network,
            };
            locked.annotations.insert(agent.clone(), annotations);
            let sentences = grants::of_tool(policy, open, &agent, tool, &grants);
            locked.grants.insert(agent.clone(), sentences);
            let changed = changed_limits(&limits);
            if !changed.is_empty() {
                locked.limits.insert(agent, changed);
            }
        }
        lock.tools.insert(name.to_owned(), locked);
    }
    lock
}

/// The names of the agents.
fn agents(open: &OpenBundle) -> Vec<String> {
    let agents = open.bundle().agents();
    if agents.is_empty() {
        return vec![IMPLICIT_AGENT.to_owned()];
    }
    let names = agents.iter().map(|agent| agent.metadata.name.to_string());
    names.collect()
}

/// The agents whose tools include this Tool.
fn agents_with(open: &OpenBundle, tool: &ResourceName) -> BTreeSet<String> {
    let agents = open.bundle().agents();
    if agents.is_empty() {
        return BTreeSet::from([IMPLICIT_AGENT.to_owned()]);
    }
    let with = agents
        .iter()
        .filter(|agent| agent.spec.tools.contains(tool));
    with.map(|agent| agent.metadata.name.to_string()).collect()
}

fn changed_limits(limits: &Limits) -> BTreeMap<String, String> {
    let defaults = Limits::default();
    let changed = Policy::limits().iter().filter_map(|info| {
        let value = info.value_of(limits);
        (value != info.value_of(&defaults)).then(|| (info.name.to_owned(), value))
    });
    changed.collect()
}

/// Reads the lock of the bundle.
///
/// # Errors
/// A finding if it cannot be used, or if there is none and the policy requires one.
pub(super) fn read(policy: &Policy, open: &OpenBundle) -> Result<Option<Lock>, Box<Diagnostic>> {
    let lock = open.read_lock()?;
    if lock.is_none() && policy.lock().required {
        let message = "the bundle has no toolhost.lock, which the policy requires";
        let place = Place::file(open.name());
        let finding = Diagnostic::error(ToolErrorCode::ConfigLock, place, message);
        let help = "Review the tools, and write it with `toolhost lock`.";
        return Err(Box::new(finding.with_help(help)));
    }
    Ok(lock)
}

/// Returns a finding for each Tool, agent and MCP server that differs from the bundle's lock: an error if the policy says
/// that one of its differences stops the load. The tools of MCP servers are compared when they list them.
pub(super) fn check(
    policy: &Policy,
    open: &OpenBundle,
    lock: &Lock,
    now: &Lock,
) -> Vec<Diagnostic> {
    let mut lock = lock.clone();
    // Their words are compared when they list their tools; those that are not granted are not started.
    lock.mcp_servers
        .retain(|name, _| now.mcp_servers.contains_key(name));
    for server in lock.mcp_servers.values_mut() {
        server.words.clear();
    }
    // What did not load has a finding of its own.
    let declared = open.bundle().tools();
    lock.tools.retain(|name, _| {
        now.tools.contains_key(name)
            || declared
                .iter()
                .all(|tool| tool.metadata.name.as_str() != name)
    });
    let mut findings = Vec::new();
    let stops = &policy.lock().stops;
    if policy.packages().is_none() && lock.has_signers() {
        let message = "the lock has signers of packages, which the policy does not verify: it has no key `packages`";
        let place = Place::file(open.name());
        let finding = graded(stops.contains(&Grade::Signer), place, message.to_owned());
        findings.push(finding.with_help("Pass the policy that names the signers, with --policy."));
    }
    let drifts = policy.differences(lock, now.clone());
    let of_one = drifts.chunk_by(|one, next| one.name == next.name);
    findings.extend(of_one.filter_map(|drifts| finding(open, drifts, stops)));
    findings
}

/// Returns what the lock has of an MCP server. Without an entry, none of its tools were reviewed.
pub(super) fn of_server(policy: &Policy, lock: &Lock, server: &ResourceName) -> ServerLock {
    let locked = lock.mcp_servers.get(server.as_str());
    let stops = policy.lock().stops.clone();
    ServerLock::new(locked.cloned().unwrap_or_default(), stops)
}

/// Most differences that a finding names beside the one that it quotes.
const OTHERS_MAX: usize = 5;

/// Returns the finding about the differences of one Tool, agent or MCP server, which quotes the gravest of those that
/// stop the load.
fn finding(open: &OpenBundle, drifts: &[Drift], stops: &BTreeSet<Grade>) -> Option<Diagnostic> {
    let stopping = drifts.iter().find(|drift| stops.contains(&drift.grade));
    let drift = stopping.or_else(|| drifts.first())?;
    let name = drift.name.as_str();
    let mut tools = open.bundle().tools().iter();
    let tool = tools.find(|tool| tool.metadata.name.as_str() == name);
    let mut servers = open.bundle().mcp_servers().iter();
    let server = servers.find(|(server, _)| server.metadata.name.as_str() == name);
    let (place, what) = match (tool, server) {
        (Some(tool), _) => (open.entry_place(tool), format!("tool {name}")),
        (None, Some((_, place))) => (place.clone(), format!("McpServer/{name}")),
        (None, None) if name.starts_with(AGENT) => (Place::file(open.name()), name.to_owned()),
        (None, None) => (Place::file(open.name()), format!("tool {name}")),
    };
    let help = format!(
        "`toolhost lock --check` prints the whole difference; after a review: toolhost lock BUNDLE --policy FILE --update {name}, with the same policy."
    );
    let others = drifts.iter().filter(|other| *other != drift);
    let mut others: Vec<&str> = others.map(|other| other.what.as_str()).collect();
    others.dedup();
    let mut message = format!("{what}: {drift}");
    if !others.is_empty() {
        let others = text::listed(others.iter().copied(), OTHERS_MAX);
        message.push_str(&format!("; others: {others}"));
    }
    Some(graded(stopping.is_some(), place, message).with_help(help))
}

fn graded(stops: bool, place: Place, message: String) -> Diagnostic {
    if stops {
        Diagnostic::error(ToolErrorCode::ConfigLock, place, message)
    } else {
        Diagnostic::warning(ToolErrorCode::ConfigLock, place, message)
    }
}
