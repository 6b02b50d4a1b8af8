//! `http`: where a tool may send requests, and what the host adds to them.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use toolhost_contract::ToolErrorCode;
use toolhost_contract::{AddressBlock, HttpCredential, HttpCredentialError, HttpGrant, HttpRule};

use super::variable::{QUOTED_MAX, Secrets, Variable, read_variable};
use crate::diagnostic::Diagnostic;
use crate::reader::{Cursor, Findings};
use toolhost_contract::text;

/// Maximum number of rules, networks and credentials of one tool, each: every request is compared with
/// all of them.
const ENTRIES_MAX: usize = 1_000;

/// How a rule is written.
const RULE: &str = "A rule is '[METHOD ]scheme://host[:port][/path*]', such as 'GET https://api.example.com/v1/*'.";

/// The rules of one tool's requests.
#[derive(Debug, Clone, Default)]
pub(super) struct HttpRules {
    grant: Arc<HttpGrant>,
    /// What the host adds to requests.
    pub(super) credentials: Vec<HttpCredential>,
}

impl HttpRules {
    /// Returns the grant for the sandbox; `None` if no request is allowed.
    pub(super) fn grant(&self, answered_by: Option<SocketAddr>) -> Option<Arc<HttpGrant>> {
        if self.grant.allow.is_empty() {
            return None;
        }
        Some(match answered_by {
            None => Arc::clone(&self.grant),
            Some(_) => Arc::new(HttpGrant {
                answered_by,
                ..HttpGrant::clone(&self.grant)
            }),
        })
    }
}

/// Reads the value of `http`.
pub(super) fn read(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<HttpRules> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["allow", "privateNetworks", "credentials"], findings);
    let mut rules = HttpRules::default();
    let mut grant = HttpGrant::default();
    for item in entries(fields.get("allow"), findings) {
        grant.allow.extend(rule(&item, findings));
    }
    for item in entries(fields.get("privateNetworks"), findings) {
        let text = item.text(findings);
        let parse = |text: &str| AddressBlock::parse(text);
        let block = text.and_then(|text| parse_with(text, parse, "network", &item, findings));
        grant.private_networks.extend(block);
    }
    for item in entries(fields.get("credentials"), findings) {
        rules
            .credentials
            .extend(credential(&item, secrets, findings));
    }
    rules.grant = Arc::new(grant);
    Some(rules)
}

fn entries<'n>(at: Option<Cursor<'n>>, findings: &mut Findings) -> Vec<Cursor<'n>> {
    let Some(at) = at else { return Vec::new() };
    let items = at.items(findings).unwrap_or_default();
    if items.len() > ENTRIES_MAX {
        let message = format!("at most {ENTRIES_MAX} are allowed, not {}", items.len());
        findings.invalid(&at, message);
        return Vec::new();
    }
    items
}

fn rule(at: &Cursor<'_>, findings: &mut Findings) -> Option<HttpRule> {
    let text = at.text(findings)?;
    match HttpRule::parse(text) {
        Ok(rule) => Some(rule),
        Err(why) => {
            let error = invalid(text, "rule", &why, at, findings);
            findings.add(error.with_help(RULE));
            None
        }
    }
}

/// Parses a text, and adds the parser's error to the findings.
fn parse_with<T, E: Display>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, E>,
    what: &str,
    at: &Cursor<'_>,
    findings: &mut Findings,
) -> Option<T> {
    match parse(text) {
        Ok(value) => Some(value),
        Err(why) => {
            let error = invalid(text, what, &why, at, findings);
            findings.add(error);
            None
        }
    }
}

fn invalid(
    text: &str,
    what: &str,
    why: &impl Display,
    at: &Cursor<'_>,
    findings: &Findings,
) -> Diagnostic {
    let shown = text::shorten(text, QUOTED_MAX);
    let message = format!("invalid {what} '{shown}': {why}");
    Diagnostic::error(ToolErrorCode::ConfigSchema, findings.place(at), message)
}

/// Reads a credential. The secret is not quoted.
fn credential(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<HttpCredential> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["origin", "header", "prefix", "value"], findings);
    let origin_at = fields.required("origin", findings);
    let header_at = fields.required("header", findings);
    let value_at = fields.required("value", findings);
    let prefix = match fields.get("prefix") {
        Some(at) => at.text(findings)?,
        None => "",
    };
    let (origin_at, header_at, value_at) = (origin_at?, header_at?, value_at?);
    let (origin, header) = (origin_at.text(findings)?, header_at.text(findings)?);
    let Variable::Secret(secret) = read_variable(&value_at, secrets, findings)? else {
        let message = "a credential is a secret; write it as {secret: …}";
        findings.invalid(&value_at, message);
        return None;
    };
    match HttpCredential::new(origin, header, prefix, &secret) {
        Ok(credential) => Some(credential),
        Err(why) => {
            let (text, what, at) = match why {
                HttpCredentialError::Origin(_) => (origin, "origin", &origin_at),
                HttpCredentialError::Header | HttpCredentialError::Forbidden => {
                    (header, "header of a credential", &header_at)
                }
                HttpCredentialError::Value => {
                    findings.invalid(&value_at, why.to_string());
                    return None;
                }
            };
            let error = invalid(text, what, &why, at, findings);
            findings.add(error);
            None
        }
    }
}
