//! Environment variables and secrets: where a policy takes their values from.

use std::collections::BTreeMap;

use toolhost_contract::text;

use crate::reader::{Cursor, Findings};
use crate::yaml::Value;

/// Shortest secret, in characters.
pub(super) const SECRET_MIN: usize = 4;

/// Longest text quoted, in characters.
pub(super) const QUOTED_MAX: usize = 80;

/// Where the operator holds a secret that a policy only names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretSource<'a> {
    /// A variable of the host's environment.
    Env(&'a str),
    /// A file, beside the policy where the path is relative.
    File(&'a str),
}

/// Gives the secrets that a policy only names.
pub type Secrets<'a> = &'a dyn Fn(SecretSource<'_>) -> Result<String, String>;

/// Gives none.
pub(super) fn no_secrets(_: SecretSource<'_>) -> Result<String, String> {
    Err("this host reads none from elsewhere; write it as {secret: …}".to_owned())
}

/// Environment variables; their values stay out of logs.
#[derive(Clone, Default)]
pub(super) struct Environment(pub(super) BTreeMap<String, Variable>);

#[derive(Clone)]
pub(super) enum Variable {
    Plain(String),
    Secret(String),
}

impl Environment {
    /// The variables whose values are no secret.
    pub(super) fn plain(&self) -> Vec<(String, String)> {
        let plain = |(name, variable): (&String, &Variable)| match variable {
            Variable::Plain(value) => Some((name.clone(), value.clone())),
            Variable::Secret(_) => None,
        };
        self.0.iter().filter_map(plain).collect()
    }

    /// The variables whose values are secret.
    pub(super) fn secrets(&self) -> Vec<(String, String)> {
        let secret = |(name, variable): (&String, &Variable)| match variable {
            Variable::Plain(_) => None,
            Variable::Secret(value) => Some((name.clone(), value.clone())),
        };
        self.0.iter().filter_map(secret).collect()
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Reads a mapping of environment variables.
pub(super) fn read_env(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<Environment> {
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
            let message = format!("the secret could not be read: {why}");
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
