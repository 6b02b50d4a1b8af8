//! Reads the key `approvals`: where people decide, and who is told that a call waits for them.

use std::fmt;

use data_encoding::BASE64;
use toolhost_contract::AddressBlock;
use zeroize::Zeroizing;

use super::http::read_networks;
use super::oauth_apps::local_networks;
use super::variable::{Secrets, Variable, read_variable};
use crate::oauth_values::read_endpoint;
use crate::reader::{Cursor, Findings, all};

/// The prefix that marks a secret of Standard Webhooks.
const SECRET_PREFIX: &str = "whsec_";

/// Bytes of a key, as Standard Webhooks has them.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// What the operator says about decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalRules {
    /// The address of the page on which people decide. Default: none.
    pub page: Option<String>,
    /// Who is told of calls that wait. Default: nobody.
    pub webhook: Option<ApprovalWebhook>,
}

/// An address that is told of each call that begins to wait, and of each decision.
#[derive(Clone, PartialEq, Eq)]
pub struct ApprovalWebhook {
    /// `https`, or `http` at this machine.
    pub url: String,
    /// The key of the signatures.
    pub key: Zeroizing<Vec<u8>>,
    /// Addresses that are not public, to which the name of the URL may resolve.
    pub networks: Vec<AddressBlock>,
    /// The text of the key, which is not to be shown.
    secret: Zeroizing<String>,
}

/// Omits the key.
impl fmt::Debug for ApprovalWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ApprovalWebhook").field(&self.url).finish()
    }
}

impl ApprovalRules {
    /// Lists the secrets, each with its name.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let webhook = self.webhook.iter();
        webhook.map(|webhook| ("approvals.webhook.secret", webhook.secret.as_str()))
    }
}

/// Reads `{page, webhook: {url, secret, privateNetworks}}`.
pub(super) fn read(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<ApprovalRules> {
    at.mapping(findings, |fields| {
        all!(ApprovalRules {
            page: fields.optional("page", read_endpoint),
            webhook: fields.optional("webhook", |at, findings| {
                read_webhook(at, secrets, findings)
            }),
        })
    })
}

fn read_webhook(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<ApprovalWebhook> {
    at.mapping(findings, |fields| {
        let url = fields.required("url", read_endpoint);
        let secret = fields.required("secret", |at, findings| read_key(at, secrets, findings));
        let mut networks = read_networks(fields);
        let (url, (secret, key)) = (url?, secret?);
        networks.extend(local_networks([url.as_str()]));
        Some(ApprovalWebhook {
            url,
            key,
            networks,
            secret,
        })
    })
}

/// Reads a secret as Standard Webhooks writes it, and returns its text and its bytes.
fn read_key(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<(Zeroizing<String>, Zeroizing<Vec<u8>>)> {
    let secret = match read_variable(at, secrets, findings)? {
        Variable::Secret(secret) => Zeroizing::new(secret),
        Variable::Plain(_) => {
            let message = "write it as {fromEnv: NAME}, {fromFile: PATH} or {secret: …}";
            return at.refuse(message, findings);
        }
    };
    let text = secret.strip_prefix(SECRET_PREFIX).unwrap_or(&secret);
    let key = BASE64.decode(text.as_bytes()).map(Zeroizing::new);
    match key.ok().filter(|key| KEY_BYTES.contains(&key.len())) {
        Some(key) => Some((secret, key)),
        None => at.refuse(
            "a secret of a webhook is 24 to 64 bytes in base64, after 'whsec_' or alone",
            findings,
        ),
    }
}
