//! Reads environment variables and secrets.

use std::fmt;

use toolhost_contract::text;

use super::credentials::{check_length, check_name, check_value};
use crate::reader::{Cursor, Findings};
use crate::yaml::Value;
use toolhost_contract::text::{QUOTED_MAX, short};

/// The place of a secret that a policy only names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretSource<'a> {
    /// A variable of the host's environment.
    Env(&'a str),
    /// A file. A relative path begins at the policy's folder.
    File(&'a str),
}

/// Reads the secrets that a policy only names.
pub type Secrets<'a> = &'a dyn Fn(SecretSource<'_>) -> Result<String, String>;

/// Reads no secrets.
pub(super) fn no_secrets(_: SecretSource<'_>) -> Result<String, String> {
    Err("it is not read from variables or files here: write it as {secret: …}".to_owned())
}

/// Environment variables, sorted by name.
#[derive(Clone, Default)]
pub(super) struct Environment {
    pub(super) plain: Vec<(String, String)>,
    pub(super) secret: Vec<(String, String)>,
}

/// Shows only the names.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.plain.iter().chain(&self.secret);
        f.debug_set().entries(names.map(|(name, _)| name)).finish()
    }
}

/// The value of a variable.
pub(super) enum Variable {
    Plain(String),
    Secret(String),
}

/// Reads a mapping of environment variables.
pub(super) fn read_env(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<Environment> {
    let mut env = Environment::default();
    for (name, at_key, value) in at.entries(findings)? {
        if check_name(name).is_err() {
            let name = short(name);
            let message = format!("'{name}' cannot be the name of an environment variable");
            findings.invalid(&at_key, message);
        }
        match read_variable(&value, secrets, findings) {
            Some(Variable::Plain(value)) => env.plain.push((name.to_owned(), value)),
            Some(Variable::Secret(value)) => env.secret.push((name.to_owned(), value)),
            None => {}
        }
    }
    env.plain.sort();
    env.secret.sort();
    Some(env)
}

/// Reads `text`, `{secret: text}`, `{fromEnv: name}` or `{fromFile: path}`. Findings do not quote the
/// value: it may be a secret.
pub(super) fn read_variable(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<Variable> {
    let Value::Map(_) = &at.node.value else {
        let value = at.text(findings)?;
        return match check_value(value) {
            Ok(()) => Some(Variable::Plain(value.to_owned())),
            Err(error) => at.refuse(error.to_string(), findings),
        };
    };
    let keys = ["secret", "fromEnv", "fromFile"];
    let message = "a secret is one of {secret: …}, {fromEnv: …} and {fromFile: …}";
    let (key, at) = at.mapping(findings, |fields| fields.one_of(&keys, message))?;
    let text = at.text(findings)?;
    let secret = match key {
        "secret" => Ok(text.to_owned()),
        "fromEnv" => secrets(SecretSource::Env(text)),
        _ => secrets(SecretSource::File(text)),
    };
    let secret = match secret {
        Ok(secret) => secret,
        Err(reason) => {
            let message = format!("the secret could not be read: {reason}");
            return at.refuse(text::shorten(&message, 4 * QUOTED_MAX), findings);
        }
    };
    match check_value(&secret).and_then(|()| check_length(&secret)) {
        Ok(()) => Some(Variable::Secret(secret)),
        Err(error) => at.refuse(error.to_string(), findings),
    }
}
