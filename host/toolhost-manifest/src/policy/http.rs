//! Reads `http`: the requests that a tool may send, and the credentials that the host adds to them.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use toolhost_contract::{
    AddressBlock, HttpCredential, HttpCredentialError, HttpGrant, HttpRule, ToolErrorCode,
};

use super::variable::{Secrets, Variable, read_variable};
use crate::diagnostic::Diagnostic;
use crate::quote::short;
use crate::reader::{Cursor, Fields, Findings};

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

/// Reads the value of `http`.
pub(super) fn read(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<HttpRules> {
    let fields = at.known_fields(&["allow", "privateNetworks", "credentials"], findings)?;
    let (private_networks, credentials) = read_reach(&fields, secrets, findings);
    let grant = HttpGrant {
        allow: entries(&fields, "allow", findings, |at, findings| {
            let text = at.text(findings)?;
            let rule = HttpRule::parse(text);
            rule.map_err(|error| add_invalid("rule", text, &error, at, Some(RULE), findings))
                .ok()
        })
        .into(),
        private_networks,
        ..HttpGrant::default()
    };
    Some(HttpRules {
        grant: Arc::new(grant),
        credentials,
    })
}

/// Reads `privateNetworks` and `credentials`.
pub(super) fn read_reach(
    fields: &Fields<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> (Vec<AddressBlock>, Vec<HttpCredential>) {
    let networks = read_networks(fields, findings);
    let read = |at: &Cursor<'_>, findings: &mut Findings| credential(at, secrets, findings);
    (networks, entries(fields, "credentials", findings, read))
}

/// Reads `privateNetworks`.
pub(super) fn read_networks(fields: &Fields<'_>, findings: &mut Findings) -> Vec<AddressBlock> {
    entries(fields, "privateNetworks", findings, |at, findings| {
        let text = at.text(findings)?;
        let block = AddressBlock::parse(text);
        block
            .map_err(|error| add_invalid("network", text, &error, at, None, findings))
            .ok()
    })
}

/// Reads a list of at most [`ENTRIES_MAX`] values, and leaves out invalid ones.
fn entries<T>(
    fields: &Fields<'_>,
    key: &str,
    findings: &mut Findings,
    read: impl Fn(&Cursor<'_>, &mut Findings) -> Option<T>,
) -> Vec<T> {
    let Some(at) = fields.get(key) else {
        return Vec::new();
    };
    let items = at.items(findings).unwrap_or_default();
    if items.len() > ENTRIES_MAX {
        let message = format!("at most {ENTRIES_MAX} are allowed, not {}", items.len());
        findings.invalid(&at, message);
        return Vec::new();
    }
    let read = |item: &Cursor<'_>| read(item, findings);
    items.iter().filter_map(read).collect()
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
    findings.add(match help {
        Some(help) => finding.with_help(help),
        None => finding,
    });
}

/// Reads a credential. Findings do not quote the secret.
fn credential(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<HttpCredential> {
    let fields = at.known_fields(&["origin", "header", "prefix", "value"], findings)?;
    let origin_at = fields.required("origin", findings);
    let header_at = fields.required("header", findings);
    let value_at = fields.required("value", findings);
    let prefix = fields.optional("prefix", findings, Cursor::text)?;
    let (origin_at, header_at, value_at) = (origin_at?, header_at?, value_at?);
    let (origin, header) = (origin_at.text(findings)?, header_at.text(findings)?);
    let Variable::Secret(secret) = read_variable(&value_at, secrets, findings)? else {
        let message = "a credential must be a secret: write it as {secret: …}";
        return value_at.refused(message, findings);
    };
    let credential = HttpCredential::new(origin, header, prefix.unwrap_or_default(), &secret);
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
}
