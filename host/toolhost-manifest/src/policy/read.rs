//! Reads policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use toolhost_contract::{Locale, ResourceName, ToolErrorCode, WorkdirChanges};

use super::named::named;
use super::rules::{AgentRules, Defaults, Rule};
use super::variable::{Secrets, no_secrets};
use super::{
    Names, Policy, approvals, budgets, calls, changesets, lock, mcp_servers, oauth_apps, packages,
    placement_check, state, workers,
};
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings, Unread};
use crate::yaml::YamlSource;
use toolhost_contract::text::short;

/// Maximum size of a policy, in bytes.
pub(super) const FILE_MAX: usize = 1 << 20;

/// The findings of an invalid policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the policy cannot be used: {}", .diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct PolicyError {
    /// All findings.
    pub diagnostics: Vec<Diagnostic>,
}

impl Policy {
    /// Parses a policy that contains all its secrets. `file` is its name in messages. An empty text is the
    /// default policy.
    ///
    /// # Errors
    /// [`PolicyError`] contains all findings at once.
    pub fn parse(text: &str, file: &str) -> Result<Self, PolicyError> {
        Self::parse_with(text, file, &no_secrets)
    }

    /// Parses a policy. `secrets` reads each secret that it names as `{fromEnv: NAME}` or
    /// `{fromFile: PATH}`. Its `Err` is the reason why a secret could not be read, without the secret.
    ///
    /// # Errors
    /// As [`Policy::parse`]. A secret that could not be read is a finding.
    pub fn parse_with(text: &str, file: &str, secrets: Secrets<'_>) -> Result<Self, PolicyError> {
        let mut findings = Findings::new(&YamlSource::new(file, text));
        let policy = match findings.only_document(FILE_MAX, "a policy is one document", None) {
            Ok(Some(node)) => read_policy(&Cursor::new(&node, ""), secrets, &mut findings),
            Ok(None) | Err(Unread) => None,
        };
        let diagnostics = findings.into_list();
        if diagnostics.is_empty() {
            let mut policy = policy.unwrap_or_default();
            policy.sha256 = Sha256::digest(text.as_bytes()).into();
            Ok(policy)
        } else {
            Err(PolicyError { diagnostics })
        }
    }
}

/// Reads a policy in another document. It contains all its secrets. What concerns processes of the machine, accounts and files
/// of users, other machines and trust is the operator's: each such key is a finding.
pub fn read_at(at: &Cursor<'_>, findings: &mut Findings) -> Option<Policy> {
    let operators = [
        ("mcpServers", "grant MCP servers"),
        ("oauthApps", "grant OAuthApps"),
        ("packages", "name signers of packages"),
        ("lock", "change which differences from the lock stop a load"),
        ("workspace", "name the workspaces of instances"),
        ("calls", "say what is kept of calls"),
        ("workers", "send calls to other machines"),
        (
            "approvals",
            "say where people decide about calls that wait, and who is told of them",
        ),
        ("state", "say which database keeps the state"),
    ];
    for (key, what) in operators {
        if let Some(granted) = at.node.get(key) {
            let granted = Cursor::new(granted, format!("{}.{key}", at.path));
            let message = format!("only the operator's policy may {what}");
            findings.invalid(&granted, message);
        }
    }
    read_policy(at, &no_secrets, findings)
}

fn read_policy(at: &Cursor<'_>, secrets: Secrets<'_>, findings: &mut Findings) -> Option<Policy> {
    let policy = at.mapping(findings, |fields| {
        let is_strict = fields.read("strict", Cursor::boolean).unwrap_or(true);
        Some(Policy {
            names: if is_strict {
                Names::OfBundle
            } else {
                Names::OfSeveralBundles
            },
            workspace: fields.read("workspace", |at, findings| {
                at.name(ResourceName::parse, findings)
            }),
            registry_direct_call: fields
                .read("registryDirectCall", Cursor::boolean)
                .unwrap_or_default(),
            locale: fields.read("locale", read_locale).unwrap_or_default(),
            defaults: fields.read("defaults", Defaults::read).unwrap_or_default(),
            budgets: fields.read("budgets", budgets::read).unwrap_or_default(),
            tools: read_tools(fields, secrets),
            agents: read_named(fields, "agents", |fields, place| {
                Some(AgentRules {
                    place,
                    tools: read_tools(fields, secrets),
                    changesets: fields.read("changesets", changesets::read).flatten(),
                    budgets: fields.read("budgets", budgets::read).unwrap_or_default(),
                })
            }),
            mcp_servers: read_named(fields, "mcpServers", |fields, place| {
                mcp_servers::read(fields, place, secrets)
            }),
            oauth_apps: read_named(fields, "oauthApps", |fields, place| {
                oauth_apps::read(fields, place, secrets)
            }),
            lock: fields.read("lock", lock::read).unwrap_or_default(),
            calls: fields.read("calls", calls::read).unwrap_or_default(),
            approvals: fields
                .read("approvals", |at, findings| {
                    approvals::read(at, secrets, findings)
                })
                .unwrap_or_default(),
            state: fields
                .read("state", |at, findings| state::read(at, secrets, findings))
                .unwrap_or_default(),
            http_for_all: Vec::new(),
            tools_called: BTreeMap::new(),
            packages: fields
                .read("packages", |at, findings| {
                    packages::read(at, secrets, findings)
                })
                .map(Arc::new),
            workers: fields
                .read("workers", |at, findings| {
                    workers::read(at, secrets, findings)
                })
                .map(Arc::new),
            sha256: [0; 32],
            answered_by: None,
            operators: None,
        })
    })?;
    check_commit_rules(&policy, findings);
    check_ask_rules(&policy, findings);
    placement_check::check(&policy, findings);
    Some(policy)
}

fn read_named<'n, T>(
    fields: &mut Fields<'n, '_>,
    key: &'static str,
    read: impl Fn(&mut Fields<'n, '_>, Place) -> Option<T>,
) -> BTreeMap<ResourceName, T> {
    let named = fields.read(key, |at, findings| named(at, findings, read));
    named.unwrap_or_default()
}

fn read_tools(fields: &mut Fields<'_, '_>, secrets: Secrets<'_>) -> BTreeMap<ResourceName, Rule> {
    read_named(fields, "tools", |fields, place| {
        Some(Rule::read(fields, place, secrets))
    })
}

fn read_locale(at: &Cursor<'_>, findings: &mut Findings) -> Option<Locale> {
    match at.text(findings)? {
        "en" => Some(Locale::En),
        "ko" => Some(Locale::Ko),
        other => {
            let message = format!("locale must be 'en' or 'ko', not '{}'", short(other));
            at.refuse(message, findings)
        }
    }
}

/// Refuses conditions for tools whose calls are no transactions: they have no effect.
fn check_commit_rules(policy: &Policy, findings: &mut Findings) {
    let is_transaction = |changes: Option<WorkdirChanges>| {
        changes.is_some_and(|changes| changes != WorkdirChanges::Direct)
    };
    let is_held = |rule: &Rule| rule.ask.as_ref().is_some_and(|ask| ask.holds_changes());
    let agents = policy.agents.values().flat_map(|agent| &agent.tools);
    for (name, rule) in policy.tools.iter().chain(agents) {
        if rule.commit_when.is_none() {
            continue;
        }
        let of_agents = policy.agents.values();
        let of_agents = of_agents.filter_map(|agent| agent.tools.get(name));
        let mut rules = of_agents.chain(policy.tools.get(name));
        let of_defaults = rule.changes.is_none() && is_transaction(policy.defaults.changes);
        if !of_defaults && !rules.any(|rule| is_transaction(rule.changes) || is_held(rule)) {
            let message =
                format!("'commitWhen' of {name} has no effect, as its changes take effect at once");
            let finding =
                Diagnostic::error(ToolErrorCode::ConfigSchema, rule.place.clone(), message);
            findings.add(finding.with_help("Add `workdir: transactional`, or remove it."));
        }
    }
}

/// Refuses changes at once for tools whose changes may have to wait.
fn check_ask_rules(policy: &Policy, findings: &mut Findings) {
    let agents = policy.agents.values().flat_map(|agent| &agent.tools);
    for (name, rule) in policy.tools.iter().chain(agents) {
        let is_held = rule.ask.as_ref().is_some_and(|ask| ask.holds_changes());
        if is_held && rule.changes == Some(WorkdirChanges::Direct) {
            let message = format!(
                "'workdir: direct' of {name} contradicts 'ask': changes that wait for consent are kept apart"
            );
            let finding =
                Diagnostic::error(ToolErrorCode::ConfigSchema, rule.place.clone(), message);
            let help = "Remove it, or write `ask: {effects: {workdir: false, http: false, agents: false}}`.";
            findings.add(finding.with_help(help));
        }
    }
}
