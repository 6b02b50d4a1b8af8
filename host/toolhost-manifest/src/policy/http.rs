//! Reads `http`: the requests that a tool may send, and the credentials that the host adds to them.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use toolhost_contract::{
    AddressBlock, Grants, HttpCredential, HttpCredentialError, HttpGrant, HttpRule, ToolErrorCode,
};

use super::variable::{Secrets, Variable, read_variable};
use crate::diagnostic::Diagnostic;
use crate::reader::{Cursor, Fields, Findings};
use toolhost_contract::text::short;

/// Maximum number of rules, networks and credentials of one tool, each: every request is compared with
/// all of them.
const ENTRIES_MAX: usize = 1_000;

/// The help for an invalid rule.
const RULE: &str = "A rule is '[METHOD ]scheme://host[:port][/path*]', such as 'GET https://api.example.com/v1/*'.";

/// The rules of one tool's requests.
#[derive(Debug, Clone, Default)]
pub(super) struct HttpRules {
    grant: Arc<HttpGrant>,
    /// The credentials that the host adds to requests.
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

/// Allows requests besides those that are granted.
pub(super) fn add(grants: &mut Grants, rules: &[HttpRule], answered_by: Option<SocketAddr>) {
    let mut http = grants.http.as_deref().cloned().unwrap_or_default();
    http.allow = http.allow.iter().chain(rules).cloned().collect();
    http.answered_by = answered_by;
    grants.http = Some(Arc::new(http));
}

/// Reads a rule for requests.
pub(super) fn read_rule(at: &Cursor<'_>, findings: &mut Findings) -> Option<HttpRule> {
    let text = at.text(findings)?;
    let rule = HttpRule::parse(text);
    rule.map_err(|error| add_invalid("rule", text, &error, at, Some(RULE), findings))
        .ok()
}

/// Reads the value of `http`.
pub(super) fn read(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<HttpRules> {
    at.mapping(findings, |fields| {
        let allow = entries(fields, "allow", read_rule);
        let (private_networks, credentials) = read_reach(fields, secrets);
        let grant = HttpGrant {
            allow: allow.into(),
            private_networks,
            ..HttpGrant::default()
        };
        Some(HttpRules {
            grant: Arc::new(grant),
            credentials,
        })
    })
}

/// Reads `privateNetworks` and `credentials`.
pub(super) fn read_reach(
    fields: &mut Fields<'_, '_>,
    secrets: Secrets<'_>,
) -> (Vec<AddressBlock>, Vec<HttpCredential>) {
    let networks = read_networks(fields);
    let credentials = entries(fields, "credentials", |at, findings| {
        credential(at, secrets, findings)
    });
    (networks, credentials)
}

/// Reads `privateNetworks`.
pub(super) fn read_networks(fields: &mut Fields<'_, '_>) -> Vec<AddressBlock> {
    entries(fields, "privateNetworks", |at, findings| {
        let text = at.text(findings)?;
        let block = AddressBlock::parse(text);
        block
            .map_err(|error| add_invalid("network", text, &error, at, None, findings))
            .ok()
    })
}

/// Reads a list of at most [`ENTRIES_MAX`] values, and leaves out invalid ones.
fn entries<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    read: impl Fn(&Cursor<'_>, &mut Findings) -> Option<T>,
) -> Vec<T> {
    let entries = fields.read(key, |at, findings| {
        let items = at.items_up_to(ENTRIES_MAX, findings)?;
        Some(
            items
                .iter()
                .filter_map(|item| read(item, findings))
                .collect(),
        )
    });
    entries.unwrap_or_default()
}

fn add_invalid(
    what: &str,
    text: &str,
    error: &impl Display,
    at: &Cursor<'_>,
    help: Option<&str>,
    findings: &mut Findings,
) {
    let message = format!("invalid {what} '{}': {error}", short(text));
    let code = ToolErrorCode::ConfigSchema;
    let finding = Diagnostic::error(code, findings.place(at), message);
    findings.add(finding.with_help_if(help));
}

/// Reads a credential. Findings do not quote the secret.
fn credential(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<HttpCredential> {
    at.mapping(findings, |fields| {
        let origin = fields.required("origin", with_place);
        let header = fields.required("header", with_place);
        let prefix = fields.read("prefix", Cursor::text).unwrap_or_default();
        let secret = fields.required("value", |at, findings| {
            let Variable::Secret(secret) = read_variable(at, secrets, findings)? else {
                return at.refuse(
                    "a credential must be a secret: write it as {secret: …}",
                    findings,
                );
            };
            Some((secret, at.clone()))
        });
        let ((origin, origin_at), (header, header_at)) = (origin?, header?);
        let (secret, value_at) = secret?;
        let findings = &mut *fields.findings;
        let credential = HttpCredential::new(origin, header, prefix, &secret);
        let recorded = credential.map_err(|error| match error {
            HttpCredentialError::Origin(_) => {
                add_invalid("origin", origin, &error, &origin_at, None, findings);
            }
            HttpCredentialError::Header | HttpCredentialError::Forbidden => {
                let what = "header of a credential";
                add_invalid(what, header, &error, &header_at, None, findings);
            }
            HttpCredentialError::Value => findings.invalid(&value_at, error.to_string()),
        });
        recorded.ok()
    })
}

fn with_place<'n>(at: &Cursor<'n>, findings: &mut Findings) -> Option<(&'n str, Cursor<'n>)> {
    Some((at.text(findings)?, at.clone()))
}
