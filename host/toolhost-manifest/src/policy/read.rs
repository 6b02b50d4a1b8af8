//! Reads policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolhost_contract::{Locale, ResourceName, ToolErrorCode, WorkdirAccess, WorkdirChanges};

use super::limits::{KEYS, LimitChanges, LimitInfo, Unit, parse_bytes};
use super::mcp_servers::{self, McpRule};
use super::named::named;
use super::oauth_apps::{self, OAuthAppRule, ToolOAuthRule};
use super::rules::{AgentRules, CommitRule, Defaults, Rule};
use super::variable::{Secrets, no_secrets, read_env};
use super::{Names, Policy, changesets, http, lock, packages};
use crate::commit_condition;
use crate::diagnostic::Diagnostic;
use crate::quote::short;
use crate::reader::{Cursor, Fields, Findings, Unread};
use crate::suggest::closest;
use crate::yaml::{Value, YamlSource};

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
            Ok(policy.unwrap_or_default())
        } else {
            Err(PolicyError { diagnostics })
        }
    }
}

/// Reads a policy in another document. It contains all its secrets, grants no MCP server and no OAuthApp, names no
/// signers, and changes neither what the lock stops nor where instances work: processes of the machine, accounts and
/// files of users and trust are the operator's.
pub fn read_at(at: &Cursor<'_>, findings: &mut Findings) -> Option<Policy> {
    let operators = [
        ("mcpServers", "grant MCP servers"),
        ("oauthApps", "grant OAuthApps"),
        ("packages", "name signers of packages"),
        ("lock", "change which differences from the lock stop a load"),
        ("workspace", "name the workspaces of instances"),
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
    let known = [
        "strict",
        "workspace",
        "registryDirectCall",
        "locale",
        "defaults",
        "tools",
        "agents",
        "mcpServers",
        "oauthApps",
        "lock",
        "packages",
    ];
    let fields = at.known_fields(&known, findings)?;
    let packages = fields.optional("packages", findings, |at, findings| {
        packages::read(at, secrets, findings)
    });
    let lock = fields.optional("lock", findings, lock::read);
    let strict = fields.optional("strict", findings, Cursor::boolean);
    let workspace = fields.optional("workspace", findings, read_workspace);
    let direct = fields.optional("registryDirectCall", findings, Cursor::boolean);
    let locale = fields.optional("locale", findings, read_locale);
    let defaults = fields.optional("defaults", findings, |at, findings| {
        let fields = at.known_fields(&["limits", "workdir"], findings)?;
        let changes = fields.optional("workdir", findings, read_changes);
        Some(Defaults {
            limits: read_limits(&fields, findings),
            changes: changes.flatten(),
        })
    });
    let policy = Policy {
        names: if strict.flatten().unwrap_or(true) {
            Names::OfBundle
        } else {
            Names::OfSeveralBundles
        },
        workspace: workspace.flatten(),
        registry_direct_call: direct.flatten().unwrap_or(false),
        locale: locale.flatten().unwrap_or_default(),
        defaults: defaults.flatten().unwrap_or_default(),
        tools: read_tools(&fields, secrets, findings),
        agents: read_agents(&fields, secrets, findings),
        mcp_servers: read_mcp_servers(&fields, secrets, findings),
        oauth_apps: read_oauth_apps(&fields, secrets, findings),
        lock: lock.flatten().unwrap_or_default(),
        packages: packages.flatten().map(Arc::new),
        answered_by: None,
        operators: None,
    };
    check_commit_rules(&policy, findings);
    Some(policy)
}

fn read_workspace(at: &Cursor<'_>, findings: &mut Findings) -> Option<ResourceName> {
    let name = ResourceName::parse(at.text(findings)?);
    findings.parsed(ToolErrorCode::ConfigName, at, name)
}

fn read_locale(at: &Cursor<'_>, findings: &mut Findings) -> Option<Locale> {
    match at.text(findings)? {
        "en" => Some(Locale::En),
        "ko" => Some(Locale::Ko),
        other => {
            let message = format!("locale must be 'en' or 'ko', not '{}'", short(other));
            at.refused(message, findings)
        }
    }
}

fn read_changes(at: &Cursor<'_>, findings: &mut Findings) -> Option<WorkdirChanges> {
    let text = at.text(findings)?;
    let mut all = WorkdirChanges::ALL.into_iter();
    if let Some(changes) = all.find(|changes| changes.as_str() == text) {
        return Some(changes);
    }
    let known = WorkdirChanges::ALL.map(WorkdirChanges::as_str);
    let help = closest(text, &known).map(|close| format!("; did you mean '{close}'?"));
    let message = format!(
        "workdir must be 'direct', 'transactional' or 'durable', not '{}'{}",
        short(text),
        help.unwrap_or_default()
    );
    at.refused(message, findings)
}

fn read_commit_rule(at: &Cursor<'_>, findings: &mut Findings) -> Option<CommitRule> {
    let Value::Text(text) = &at.node.value else {
        return commit_condition::read(at, findings).map(CommitRule::If);
    };
    if text == "always" {
        return Some(CommitRule::Always);
    }
    let message = format!(
        "commitWhen must be 'always', or such as {{pointer: /exitCode, equals: 0}}, not '{}'",
        short(text)
    );
    at.refused(message, findings)
}

/// Refuses conditions for tools whose calls are no transactions: they have no effect.
fn check_commit_rules(policy: &Policy, findings: &mut Findings) {
    let is_transaction = |changes: Option<WorkdirChanges>| {
        changes.is_some_and(|changes| changes != WorkdirChanges::Direct)
    };
    let agents = policy.agents.values().flat_map(|agent| &agent.tools);
    for (name, rule) in policy.tools.iter().chain(agents) {
        if rule.commit_when.is_none() {
            continue;
        }
        let of_agents = policy.agents.values();
        let of_agents = of_agents.filter_map(|agent| agent.tools.get(name));
        let mut rules = of_agents.chain(policy.tools.get(name));
        let of_defaults = rule.changes.is_none() && is_transaction(policy.defaults.changes);
        if !of_defaults && !rules.any(|rule| is_transaction(rule.changes)) {
            let message =
                format!("'commitWhen' of {name} has no effect, as its changes take effect at once");
            let finding =
                Diagnostic::error(ToolErrorCode::ConfigSchema, rule.place.clone(), message);
            findings.add(finding.with_help("Add `workdir: transactional`, or remove it."));
        }
    }
}

fn read_agents(
    policy: &Fields<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> BTreeMap<ResourceName, AgentRules> {
    named(policy, "agents", findings, |fields, place, findings| {
        fields.refuse_unknown(&["tools", "changesets"], findings);
        let changesets = fields.optional("changesets", findings, changesets::read);
        AgentRules {
            place,
            tools: read_tools(fields, secrets, findings),
            changesets: changesets.flatten().flatten(),
        }
    })
}

fn read_mcp_servers(
    policy: &Fields<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> BTreeMap<ResourceName, McpRule> {
    let read = |fields: &Fields<'_>, place, findings: &mut Findings| {
        mcp_servers::read(fields, place, secrets, findings)
    };
    let rules = named(policy, "mcpServers", findings, read);
    let valid = rules.into_iter();
    valid
        .filter_map(|(name, rule)| Some((name, rule?)))
        .collect()
}

fn read_oauth_apps(
    policy: &Fields<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> BTreeMap<ResourceName, OAuthAppRule> {
    let read = |fields: &Fields<'_>, place, findings: &mut Findings| {
        oauth_apps::read(fields, place, secrets, findings)
    };
    let rules = named(policy, "oauthApps", findings, read);
    let valid = rules.into_iter();
    valid
        .filter_map(|(name, rule)| Some((name, rule?)))
        .collect()
}

fn read_tools(
    above: &Fields<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> BTreeMap<ResourceName, Rule> {
    named(above, "tools", findings, |fields, place, findings| {
        let known = [
            "limits",
            "env",
            "readOnly",
            "workdir",
            "commitWhen",
            "http",
            "agents",
            "oauth",
        ];
        fields.refuse_unknown(&known, findings);
        let read_only = fields.optional("readOnly", findings, Cursor::boolean);
        let changes = fields.optional("workdir", findings, read_changes);
        let commit_when = fields.optional("commitWhen", findings, read_commit_rule);
        let agents = fields.optional("agents", findings, Cursor::boolean);
        let env = |at: &Cursor<'_>, findings: &mut Findings| read_env(at, secrets, findings);
        let http = |at: &Cursor<'_>, findings: &mut Findings| http::read(at, secrets, findings);
        Rule {
            place,
            limits: read_limits(fields, findings),
            env: fields.optional("env", findings, env).flatten(),
            http: fields.optional("http", findings, http).flatten(),
            access: read_only.flatten().map(|read_only| {
                if read_only {
                    WorkdirAccess::ReadOnly
                } else {
                    WorkdirAccess::ReadWrite
                }
            }),
            changes: changes.flatten(),
            commit_when: commit_when.flatten(),
            agents: agents.flatten(),
            oauth: fields
                .get("oauth")
                .map(|_| read_tool_oauth(fields, findings)),
        }
    })
}

/// Reads the OAuthApps that a tool may use.
fn read_tool_oauth(
    tool: &Fields<'_>,
    findings: &mut Findings,
) -> BTreeMap<ResourceName, ToolOAuthRule> {
    named(tool, "oauth", findings, |fields, place, findings| {
        oauth_apps::read_use(fields, place, findings)
    })
}

fn read_limits(above: &Fields<'_>, findings: &mut Findings) -> LimitChanges {
    let Some(fields) = above.get("limits").and_then(|at| at.fields(findings)) else {
        return LimitChanges::default();
    };
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    fields.refuse_unknown(&names, findings);
    let change = |key| Some((key, read_limit(key, &fields.get(key.name)?, findings)?));
    LimitChanges(KEYS.iter().filter_map(change).collect())
}

fn read_limit(key: &LimitInfo, at: &Cursor<'_>, findings: &mut Findings) -> Option<u64> {
    let value = if let Value::Integer(number) = at.node.value {
        u64::try_from(number).ok()
    } else if key.unit == Unit::Count {
        return at.expected("an integer", findings);
    } else if let Value::Text(text) = &at.node.value {
        let bytes = parse_bytes(text);
        if bytes.is_none() {
            let message = format!("'{}' is not a number of bytes, such as 64MiB", short(text));
            return at.refused(message, findings);
        }
        bytes
    } else {
        let expected = "a number of bytes, such as 1048576 or 1MiB,";
        return at.expected(expected, findings);
    };
    let allowed = value.filter(|value| key.allows(*value));
    allowed.or_else(|| {
        let message = format!("'{}' must be {}", key.name, key.range());
        at.refused(message, findings)
    })
}
