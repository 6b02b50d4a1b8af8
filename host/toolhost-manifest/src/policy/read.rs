//! Reads the policy file.

use std::collections::BTreeMap;

use toolhost_contract::WorkdirAccess;
use toolhost_contract::{Locale, ResourceName, ToolErrorCode};

use super::limits::{KEYS, LimitChanges, LimitKey, Unit, parse_bytes};
use super::{AgentRules, Environment, Policy, Rule, SecretSource, Secrets, Variable, http};
use crate::bundle::{Diagnostic, Place, YamlSource};
use crate::reader::{Cursor, Fields, Findings, Unread};
use crate::yaml::Value;
use toolhost_contract::text;

/// Largest file, in bytes.
pub(super) const FILE_MAX: usize = 1 << 20;

/// Shortest secret, in characters.
pub(super) const SECRET_MIN: usize = 4;

/// Longest text quoted, in characters.
pub(super) const QUOTED_MAX: usize = 80;

/// Reads a policy, with secrets from where it says; every finding at once.
pub(super) fn policy(source: &YamlSource, secrets: Secrets<'_>) -> Result<Policy, Vec<Diagnostic>> {
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
pub(super) fn read_policy(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<Policy> {
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

fn read_env(at: &Cursor<'_>, secrets: Secrets<'_>, findings: &mut Findings) -> Option<Environment> {
    let mut env = Environment::default();
    for (name, at_key, value) in at.fields(findings)?.entries() {
        if name.is_empty() || name.contains(['=', '\0']) {
            let shown = text::shorten(name, QUOTED_MAX);
            let message = format!("'{shown}' cannot be the name of an environment variable");
            findings.invalid(&at_key, message);
        }
        if let Some(variable) = read_variable(&value, secrets, findings) {
            env.0.insert(name.to_owned(), variable);
        }
    }
    Some(env)
}

/// Reads `text`, `{secret: text}`, `{fromEnv: name}` or `{fromFile: path}`. The value is not quoted: it
/// may be a secret.
pub(super) fn read_variable(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<Variable> {
    let Value::Map(_) = &at.node.value else {
        let text = without_nul(at.text(findings)?, at, findings)?;
        return Some(Variable::Plain(text));
    };
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["secret", "fromEnv", "fromFile"], findings);
    let (variable, file) = (fields.get("fromEnv"), fields.get("fromFile"));
    let (at, text) = match (fields.get("secret"), variable, file) {
        (Some(at), None, None) => (at.clone(), at.text(findings)?.to_owned()),
        (None, Some(at), None) => held(SecretSource::Env, at, secrets, findings)?,
        (None, None, Some(at)) => held(SecretSource::File, at, secrets, findings)?,
        _ => {
            let message = "a secret is one of {secret: …}, {fromEnv: …} and {fromFile: …}";
            findings.invalid(at, message);
            return None;
        }
    };
    let text = without_nul(&text, &at, findings)?;
    if text.chars().count() < SECRET_MIN {
        let message = format!(
            "a secret has at least {SECRET_MIN} characters: a shorter one would be taken out of ordinary words"
        );
        findings.invalid(&at, message);
        return None;
    }
    Some(Variable::Secret(text))
}

/// A secret that is held elsewhere.
fn held<'n>(
    source: fn(&'n str) -> SecretSource<'n>,
    at: Cursor<'n>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<(Cursor<'n>, String)> {
    let source = source(at.text(findings)?);
    match secrets(source) {
        Ok(secret) => Some((at, secret)),
        Err(why) => {
            let message = format!("the secret cannot be had: {why}");
            findings.invalid(&at, text::shorten(&message, 4 * QUOTED_MAX));
            None
        }
    }
}

fn without_nul(text: &str, at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    if text.contains('\0') {
        let message = "an environment variable cannot hold a NUL character";
        findings.invalid(at, message);
        return None;
    }
    Some(text.to_owned())
}
