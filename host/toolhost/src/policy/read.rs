//! Reads the policy file.

use std::collections::BTreeMap;

use toolhost_contract::{Locale, ResourceName, ToolErrorCode};
use toolhost_sandbox::WorkdirAccess;

use super::limits::{KEYS, LimitChanges, LimitKey, Unit, parse_bytes};
use super::{AgentRules, Environment, Policy, Rule, Variable};
use crate::bundle::reader::{Cursor, Fields, Findings};
use crate::bundle::yaml::{self, Value};
use crate::bundle::{Diagnostic, Place, YamlSource};
use crate::result::text;

/// Largest file, in bytes.
pub(super) const FILE_MAX: usize = 1 << 20;

/// Shortest secret, in characters.
pub(super) const SECRET_MIN: usize = 4;

/// Longest text quoted, in characters.
const QUOTED_MAX: usize = 80;

/// Grants of later versions: named, they would be an empty promise.
const NOT_SERVED: [(&str, &str); 1] = [(
    "http",
    "Remove it: in this version no tool reaches the network.",
)];

/// Reads a policy; every finding at once.
pub(super) fn policy(source: &YamlSource) -> Result<Policy, Vec<Diagnostic>> {
    let mut findings = Findings::new(source);
    let policy = read(source, &mut findings);
    let list = findings.into_list();
    if list.is_empty() {
        Ok(policy)
    } else {
        Err(list)
    }
}

fn read(source: &YamlSource, findings: &mut Findings) -> Policy {
    let whole = |code, message: &str| Diagnostic::error(code, Place::file(source.name()), message);
    if source.text().len() > FILE_MAX {
        let message = format!("the file is larger than {FILE_MAX} bytes");
        findings.add(whole(ToolErrorCode::ConfigTooLarge, &message));
        return Policy::default();
    }
    let documents = yaml::documents(source, 2);
    if documents.len() > 1 {
        let message = "a policy is one document";
        findings.add(whole(ToolErrorCode::ConfigTooMany, message));
    }
    let Some(document) = documents.first() else {
        return Policy::default();
    };
    match document {
        Ok(node) => read_policy(&Cursor::new(node, ""), findings).unwrap_or_default(),
        Err(error) => {
            let place = match error.at {
                Some(mark) => source.place(mark, ""),
                None => Place::file(source.name()),
            };
            let message = error.message.as_str();
            findings.add(Diagnostic::error(
                ToolErrorCode::ConfigParse,
                place,
                message,
            ));
            Policy::default()
        }
    }
}

/// Reads the policy that stands here.
pub(crate) fn read_policy(at: &Cursor<'_>, findings: &mut Findings) -> Option<Policy> {
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
        tools: read_tools(&fields, findings),
        agents: read_agents(&fields, findings),
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

fn read_agents(policy: &Fields<'_>, findings: &mut Findings) -> BTreeMap<ResourceName, AgentRules> {
    named(policy, "agents", findings, |fields, place, findings| {
        fields.refuse_unknown(&["tools"], findings);
        AgentRules {
            place,
            tools: read_tools(fields, findings),
        }
    })
}

fn read_tools(above: &Fields<'_>, findings: &mut Findings) -> BTreeMap<ResourceName, Rule> {
    named(above, "tools", findings, |fields, place, findings| {
        refuse_not_served(fields, findings);
        fields.refuse_unknown(&["limits", "env", "readOnly", "http", "agents"], findings);
        let env = fields.get("env");
        let read_only = fields.get("readOnly").and_then(|at| at.boolean(findings));
        let agents = fields.get("agents").and_then(|at| at.boolean(findings));
        Rule {
            place,
            limits: read_limits(fields, findings),
            env: env.and_then(|at| read_env(&at, findings)),
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

fn refuse_not_served(rule: &Fields<'_>, findings: &mut Findings) {
    for (name, at_key, _) in rule.entries() {
        let Some((_, help)) = NOT_SERVED.iter().find(|(key, _)| *key == name) else {
            continue;
        };
        let place = findings.place(&at_key);
        let message = format!("'{name}' is not served by this version");
        let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place, message);
        findings.add(error.with_help(*help));
    }
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

fn read_env(at: &Cursor<'_>, findings: &mut Findings) -> Option<Environment> {
    let mut env = Environment::default();
    for (name, at_key, value) in at.fields(findings)?.entries() {
        if name.is_empty() || name.contains(['=', '\0']) {
            let shown = text::shorten(name, QUOTED_MAX);
            let message = format!("'{shown}' cannot be the name of an environment variable");
            findings.invalid(&at_key, message);
        }
        if let Some(variable) = read_variable(&value, findings) {
            env.0.insert(name.to_owned(), variable);
        }
    }
    Some(env)
}

/// Reads `text` or `{secret: text}`. The value is not quoted: it may be a secret.
fn read_variable(at: &Cursor<'_>, findings: &mut Findings) -> Option<Variable> {
    let secret = match &at.node.value {
        Value::Map(_) => {
            let fields = at.fields(findings)?;
            fields.refuse_unknown(&["secret"], findings);
            Some(fields.required("secret", findings)?)
        }
        Value::Null
        | Value::Bool(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_) => None,
    };
    let text = secret.as_ref().unwrap_or(at).text(findings)?;
    if text.contains('\0') {
        let message = "an environment variable cannot hold a NUL character";
        findings.invalid(at, message);
        return None;
    }
    if secret.is_some() && text.chars().count() < SECRET_MIN {
        let message = format!(
            "a secret has at least {SECRET_MIN} characters: a shorter one would be taken out of ordinary words"
        );
        findings.invalid(at, message);
        return None;
    }
    let text = text.to_owned();
    Some(match secret {
        Some(_) => Variable::Secret(text),
        None => Variable::Plain(text),
    })
}
