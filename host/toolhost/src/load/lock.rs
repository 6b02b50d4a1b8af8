//! Compares the tools of a bundle with its lock.

use std::collections::{BTreeMap, BTreeSet};

use toolhost_contract::{
    Grants, Limits, ResourceName, ToolErrorCode, ToolResource, WorkdirAccess, WorkdirChanges,
};
use toolhost_manifest::bundle::{Diagnostic, IMPLICIT_AGENT, OpenBundle, Place};
use toolhost_manifest::lock::{Annotations, Drift, Lock, LockedTool, ServerLock};
use toolhost_manifest::policy::Policy;

use super::register::Found;
use crate::tool_access::ToolAccess;

/// Returns the lock that describes the tools as they are.
pub(super) fn now(policy: &Policy, open: &OpenBundle, found: &Found) -> Lock {
    let mut lock = Lock::new();
    for tool in open.bundle().tools() {
        let name = tool.metadata.name.as_str();
        let mut components = found.components.iter();
        let Some((_, facts)) = components.find(|(component, _)| component == name) else {
            continue;
        };
        let words = found.words.iter().filter(|(of, ..)| of == name);
        let mut packages = found.packages.iter();
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
            let access = ToolAccess::of(&facts.imports, &grants, asks_agents);
            let annotations = Annotations {
                read_only_hint: access.is_read_only(),
                open_world_hint: access.network,
            };
            locked.annotations.insert(agent.clone(), annotations);
            let sentences = grants_of(policy, &agent, tool, &grants);
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

/// What the policy grants, a sentence each, without secrets.
fn grants_of(policy: &Policy, agent: &str, of: &ToolResource, grants: &Grants) -> Vec<String> {
    let tool = &of.metadata.name;
    let mut sentences = vec!["reads the workdir".to_owned()];
    match (grants.workdir, policy.workdir_changes(agent, tool)) {
        (WorkdirAccess::ReadOnly, _) => {}
        (WorkdirAccess::ReadWrite, WorkdirChanges::Direct) => {
            sentences.push("writes the workdir".to_owned());
        }
        (WorkdirAccess::ReadWrite, changes) => {
            let conditions = conditions(policy, agent, of);
            sentences.push(format!(
                "writes the workdir ({}{conditions})",
                changes.as_str()
            ));
        }
    }
    let mut with_secrets = grants.clone();
    policy
        .resolve_credentials(agent, tool)
        .add_to(&mut with_secrets);
    if let Some(http) = &with_secrets.http {
        sentences.extend(http.allow.iter().map(|rule| format!("sends {rule}")));
        let networks = http.private_networks.iter();
        sentences.extend(networks.map(|network| format!("reaches {network}")));
        let headers = http.credentials.iter();
        sentences.extend(headers.map(|credential| format!("sends the header {credential}")));
    }
    for (name, _) in &with_secrets.env {
        let is_plain = grants.env.iter().any(|(plain, _)| plain == name);
        let kind = if is_plain { "variable" } else { "secret" };
        sentences.push(format!("has the {kind} {name}"));
    }
    if policy.grants_agents(agent, tool) {
        sentences.push("asks other agents".to_owned());
    }
    let apps = policy.oauth_of(agent, tool);
    sentences.extend(apps.iter().map(|grant| {
        let scopes = grant
            .scopes
            .as_ref()
            .map_or_else(String::new, |scopes| format!(" for {}", scopes.join(", ")));
        format!("uses accounts of {}{scopes}", grant.app)
    }));
    sentences
}

/// Returns which outputs of each export mean that its changes are kept, such as ``, of exec if `/exitCode` is 0``.
fn conditions(policy: &Policy, agent: &str, tool: &ToolResource) -> String {
    let exports = tool.spec.exports.iter().filter_map(|export| {
        let of_export = export.commit_when.as_ref();
        let when = policy.commit_when(agent, &tool.metadata.name, of_export)?;
        Some(format!(", of {} if {when}", export.name))
    });
    exports.collect()
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

/// Returns a finding for each difference of the Tools from the bundle's lock: an error if the policy says that it stops
/// the load. MCP servers are compared when they list their tools.
pub(super) fn check(
    policy: &Policy,
    open: &OpenBundle,
    lock: &Lock,
    now: &Lock,
) -> Vec<Diagnostic> {
    let mut lock = lock.clone();
    lock.mcp_servers.clear();
    // What did not load has a finding of its own.
    let declared = open.bundle().tools();
    lock.tools.retain(|name, _| {
        now.tools.contains_key(name)
            || declared
                .iter()
                .all(|tool| tool.metadata.name.as_str() != name)
    });
    let mut findings = Vec::new();
    if policy.packages().is_none() && lock.has_signers() {
        let message = "the lock has signers of packages, which the policy does not verify: it has no key `packages`";
        let place = Place::file(open.name());
        let finding = Diagnostic::warning(ToolErrorCode::ConfigLock, place, message);
        findings.push(finding.with_help("Pass the policy that names the signers, with --policy."));
    }
    let stops = &policy.lock().stops;
    let drifts = policy.differences(lock, now.clone()).into_iter();
    findings.extend(drifts.map(|drift| finding(open, &drift, stops.contains(&drift.grade))));
    findings
}

/// Returns what the lock has of an MCP server. Without an entry, none of its tools were reviewed.
pub(super) fn of_server(policy: &Policy, lock: &Lock, server: &ResourceName) -> ServerLock {
    let locked = lock.mcp_servers.get(server.as_str());
    let stops = policy.lock().stops.clone();
    ServerLock::new(locked.cloned().unwrap_or_default(), stops)
}

fn finding(open: &OpenBundle, drift: &Drift, stops: bool) -> Diagnostic {
    let mut tools = open.bundle().tools().iter();
    let tool = tools.find(|tool| tool.metadata.name.as_str() == drift.name);
    let place = tool.map_or_else(|| Place::file(open.name()), |tool| open.entry_place(tool));
    let message = format!("tool {}: {drift}", drift.name);
    let help = format!(
        "`toolhost lock --check` prints the whole difference; after a review: toolhost lock BUNDLE --policy FILE --update {}, with the same policy.",
        drift.name
    );
    let finding = match stops {
        true => Diagnostic::error(ToolErrorCode::ConfigLock, place, message),
        false => Diagnostic::warning(ToolErrorCode::ConfigLock, place, message),
    };
    finding.with_help(help)
}
