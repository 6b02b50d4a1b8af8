//! Reads the policy file.

use std::collections::BTreeMap;

use toolhost_contract::WorkdirAccess;
use toolhost_contract::{Locale, ResourceName, ToolErrorCode};

use super::limits::{KEYS, LimitChanges, LimitKey, Unit, parse_bytes};
use super::rules::{AgentRules, Rule};
use super::variable::{QUOTED_MAX, Secrets, no_secrets, read_env};
use super::{Policy, http};
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings, Unread};
use crate::yaml::Value;
use crate::yaml::YamlSource;
use toolhost_contract::text;

/// Largest file, in bytes.
pub(super) const FILE_MAX: usize = 1 << 20;

/// Why a text is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the policy cannot be used: {}", .diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct PolicyError {
    /// Every finding.
    pub diagnostics: Vec<Diagnostic>,
}

impl Policy {
    /// Parses a policy whose secrets are all in it; `file` is the name it is shown under. An empty file
    /// is the default policy.
    ///
    /// # Errors
    /// [`PolicyError`] carries every finding at once. A policy with one error is no policy.
    pub fn parse(text: &str, file: &str) -> Result<Self, PolicyError> {
        Self::parse_with(text, file, &no_secrets)
    }

    /// Parses a policy, and asks for each secret that it names as `{fromEnv: NAME}` or
    /// `{fromFile: PATH}`. An `Err` says, without quoting a secret, why it could not be read.
    ///
    /// # Errors
    /// As [`Policy::parse`]; a secret that could not be read is a finding, too.
    pub fn parse_with(text: &str, file: &str, secrets: Secrets<'_>) -> Result<Self, PolicyError> {
        let parsed = policy(&YamlSource::new(file, text), secrets);
        parsed.map_err(|diagnostics| PolicyError { diagnostics })
    }
}

/// Reads a policy that stands in another document; its secrets are all in it.
pub fn read_at(at: &Cursor<'_>, findings: &mut Findings) -> Option<Policy> {
    read_policy(at, &no_secrets, findings)
}

/// Reads a policy, with secrets from where it says; every finding at once.
fn policy(source: &YamlSource, secrets: Secrets<'_>) -> Result<Policy, Vec<Diagnostic>> {
    let mut findings = Findings::new(source);
    let document = findings.only_document(FILE_MAX, "a policy is one document", None);
    let policy = match document {
        Ok(Some(node)) => read_policy(&Cursor::new(&node, ""), secrets, &mut findings),
        Ok(None) | Err(Unread) => None,
    };
    let list = findings.into_list();
    if list.is_empty() {
        Ok(policy.unwrap_or_default())
    } else {
        Err(list)
    }
}

/// Reads the policy that stands here.
fn read_policy(at: &Cursor<'_>, secrets: Secrets<'_>, findings: &mut Findings) -> Option<Policy> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(
        &[
            "registryDirectCall",
            "locale",
            "defaults",
            "tools",
            "agents",
        ],
        findings,
    );
    let direct = fields.get("registryDirectCall");
    let defaults = fields.get("defaults");
    Some(Policy {
        registry_direct_call: direct.and_then(|at| at.boolean(findings)).unwrap_or(false),
        locale: fields
            .get("locale")
            .and_then(|at| read_locale(&at, findings))
            .unwrap_or_default(),
        defaults: defaults
            .and_then(|at| read_defaults(&at, findings))
            .unwrap_or_default(),
        tools: read_tools(&fields, secrets, findings),
        agents: read_agents(&fields, secrets, findings),
        answered_by: None,
        operators: None,
    })
}

fn read_locale(at: &Cursor<'_>, findings: &mut Findings) -> Option<Locale> {
    match at.text(findings)? {
        "en" => Some(Locale::En),
        "ko" => Some(Locale::Ko),
        other => {
            let other = text::shorten(other, QUOTED_MAX);
            findings.invalid(at, format!("locale must be 'en' or 'ko', not '{other}'"));
            None
        }
    }
}

fn read_defaults(at: &Cursor<'_>, findings: &mut Findings) -> Option<LimitChanges> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["limits"], findings);
    Some(read_limits(&fields, findings))
}

fn read_agents(
    policy: &Fields<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> BTreeMap<ResourceName, AgentRules> {
    named(policy, "agents", findings, |fields, place, findings| {
        fields.refuse_unknown(&["tools"], findings);
        AgentRules {
            place,
            tools: read_tools(fields, secrets, findings),
        }
    })
}

fn read_tools(
    above: &Fields<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> BTreeMap<ResourceName, Rule> {
    named(above, "tools", findings, |fields, place, findings| {
        fields.refuse_unknown(&["limits", "env", "readOnly", "http", "agents"], findings);
        let (env, http) = (fields.get("env"), fields.get("http"));
        let read_only = fields.get("readOnly").and_then(|at| at.boolean(findings));
        let agents = fields.get("agents").and_then(|at| at.boolean(findings));
        Rule {
            place,
            limits: read_limits(fields, findings),
            env: env.and_then(|at| read_env(&at, secrets, findings)),
            http: http.and_then(|at| http::read(&at, secrets, findings)),
            workdir: read_only.map(workdir_access),
            agents,
        }
    })
}

fn workdir_access(read_only: bool) -> WorkdirAccess {
    if read_only {
        WorkdirAccess::ReadOnly
    } else {
        WorkdirAccess::ReadWrite
    }
}

/// Reads a mapping from resource names to mappings.
fn named<'n, T>(
    above: &Fields<'n>,
    key: &str,
    findings: &mut Findings,
    read: impl Fn(&Fields<'n>, Place, &mut Findings) -> T,
) -> BTreeMap<ResourceName, T> {
    let mut by_name = BTreeMap::new();
    let Some(fields) = above.get(key).and_then(|at| at.fields(findings)) else {
        return by_name;
    };
    for (name, at_key, value) in fields.entries() {
        let Some(rules) = value.fields(findings) else {
            continue;
        };
        let read = read(&rules, findings.place(&at_key), findings);
        match ResourceName::parse(name) {
            Ok(name) => {
                by_name.insert(name, read);
            }
            Err(error) => {
                let message = text::shorten(&error.to_string(), 2 * QUOTED_MAX);
                findings.error(ToolErrorCode::ConfigName, &at_key, message);
            }
        }
    }
    by_name
}

fn read_limits(above: &Fields<'_>, findings: &mut Findings) -> LimitChanges {
    let mut changes = LimitChanges::default();
    let Some(fields) = above.get("limits").and_then(|at| at.fields(findings)) else {
        return changes;
    };
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    fields.refuse_unknown(&names, findings);
    for key in &KEYS {
        let value = fields
            .get(key.name)
            .and_then(|at| read_limit(key, &at, findings));
        if let Some(value) = value {
            changes.add(key, value);
        }
    }
    changes
}

fn read_limit(key: &LimitKey, at: &Cursor<'_>, findings: &mut Findings) -> Option<u64> {
    let value = match (&at.node.value, key.unit) {
        (Value::Integer(number), _) => u64::try_from(*number).ok(),
        (Value::Text(text), Unit::Bytes) => match parse_bytes(text) {
            Some(bytes) => Some(bytes),
            None => {
                let shown = text::shorten(text, QUOTED_MAX);
                let message = format!("'{shown}' is not a number of bytes, such as 64MiB");
                findings.invalid(at, message);
                return None;
            }
        },
        (
            Value::Null
            | Value::Bool(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_),
            unit,
        ) => {
            let expected = match unit {
                Unit::Count => "an integer",
                Unit::Bytes => "a number of bytes, such as 1048576 or 1MiB,",
            };
            return at.expected(expected, findings);
        }
    };
    let allowed = value.filter(|value| key.allows(*value));
    if allowed.is_none() {
        findings.invalid(at, format!("'{}' must be {}", key.name, key.range()));
    }
    allowed
}
