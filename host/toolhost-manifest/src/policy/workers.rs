//! Reads the keys `workers` and `placement`: which calls run on other machines, and how they get there.

use std::fmt;

use toolhost_contract::text::short;
use zeroize::Zeroizing;

use super::variable::{Secrets, Variable, read_variable};
use crate::reader::{Cursor, Findings};
use crate::yaml::Value;

/// Longest URL of a server, in bytes.
const URL_MAX: usize = 1024;

/// Most servers of a cluster that are named.
const SERVERS_MAX: usize = 32;

/// Longest label and tenant, in bytes.
const WORD_MAX: usize = 32;

/// Most calls of a host that workers may have at once.
const IN_FLIGHT_MAX: u32 = 100_000;

/// Where the calls of a tool run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Placement {
    /// In the host.
    #[default]
    Local,
    /// On any worker.
    Any,
    /// On a worker with this label: 1 to 32 letters from `a` to `z`, digits and `-`.
    Label(String),
}

/// How calls get to workers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkersRule {
    /// The servers that carry calls.
    pub nats: NatsRule,
    /// Most calls of one host that workers have at once. More are refused. Default: 1,000.
    pub in_flight: u32,
}

/// How NATS is reached.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NatsRule {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`, of servers of one cluster.
    pub urls: Vec<String>,
    /// How hosts and workers prove who they are. Default: they do not.
    pub login: Option<NatsLogin>,
    /// The certificates of authorities whose servers are trusted, in PEM. Default: those of Mozilla.
    pub authorities: Option<String>,
    /// What all names on the servers begin with: 1 to 32 letters from `a` to `z`, digits and `-`. Default: `default`.
    pub tenant: String,
    /// On how many servers of the cluster each message lies: 1, 3 or 5. Default: 1.
    pub replicas: u8,
}

/// A secret for NATS.
#[derive(Clone, PartialEq, Eq)]
pub enum NatsLogin {
    /// The text of a credentials file, as `nsc` makes it.
    Credentials(Zeroizing<String>),
    /// The seed of an nkey.
    Nkey(Zeroizing<String>),
    /// A token.
    Token(Zeroizing<String>),
}

impl NatsLogin {
    /// Returns the secret.
    pub fn secret(&self) -> &str {
        match self {
            Self::Credentials(secret) | Self::Nkey(secret) | Self::Token(secret) => secret,
        }
    }
}

/// Omits the secret.
impl fmt::Debug for NatsLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Credentials(_) => "Credentials",
            Self::Nkey(_) => "Nkey",
            Self::Token(_) => "Token",
        })
    }
}

impl fmt::Debug for NatsRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsRule")
            .field("urls", &self.urls)
            .field("login", &self.login)
            .field("tenant", &self.tenant)
            .field("replicas", &self.replicas)
            .finish_non_exhaustive()
    }
}

impl WorkersRule {
    /// Lists the secrets, each with its name.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let login = self.nats.login.iter();
        login.map(|login| ("workers.nats", login.secret()))
    }
}

/// Reads `{nats: {url, credentials, nkey, token, authorities, tenant, replicas}, inFlight}`.
pub(super) fn read(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<WorkersRule> {
    at.mapping(findings, |fields| {
        let nats = fields.required("nats", |at, findings| read_nats(at, secrets, findings));
        let in_flight = fields.optional("inFlight", |at, findings| {
            let number = integer(at).and_then(|number| u32::try_from(number).ok());
            let number = number.filter(|number| (1..=IN_FLIGHT_MAX).contains(number));
            number.or_else(|| at.expected("a number from 1 to 100,000", findings))
        });
        Some(WorkersRule {
            nats: nats?,
            in_flight: in_flight?.unwrap_or(1_000),
        })
    })
}

fn read_nats(at: &Cursor<'_>, secrets: Secrets<'_>, findings: &mut Findings) -> Option<NatsRule> {
    at.mapping(findings, |fields| {
        let secret = |at: &Cursor<'_>, findings: &mut Findings| match read_variable(
            at, secrets, findings,
        )? {
            Variable::Secret(secret) => Some(Zeroizing::new(secret)),
            Variable::Plain(_) => {
                let message = "write it as {fromEnv: NAME}, {fromFile: PATH} or {secret: …}";
                at.refuse(message, findings)
            }
        };
        let urls = fields.required("url", read_urls);
        let logins = [
            fields
                .optional("credentials", secret)?
                .map(NatsLogin::Credentials),
            fields.optional("nkey", secret)?.map(NatsLogin::Nkey),
            fields.optional("token", secret)?.map(NatsLogin::Token),
        ];
        let mut logins = logins.into_iter().flatten();
        let login = logins.next();
        if logins.next().is_some() {
            return fields.refuse("only one of 'credentials', 'nkey' and 'token' is used");
        }
        let authorities = fields.optional("authorities", |at, findings| {
            match read_variable(at, secrets, findings)? {
                Variable::Secret(text) | Variable::Plain(text) => Some(text),
            }
        });
        let tenant = fields.optional("tenant", |at, findings| read_word(at, "tenant", findings));
        let replicas = fields.optional("replicas", |at, findings| match integer(at) {
            Some(1) => Some(1),
            Some(3) => Some(3),
            Some(5) => Some(5),
            Some(_) | None => at.expected("1, 3 or 5", findings),
        });
        Some(NatsRule {
            urls: urls?,
            login,
            authorities: authorities?,
            tenant: tenant?.unwrap_or_else(|| "default".to_owned()),
            replicas: replicas?.unwrap_or(1),
        })
    })
}

fn integer(at: &Cursor<'_>) -> Option<i128> {
    if let Value::Integer(number) = at.node.value {
        Some(number)
    } else {
        None
    }
}

fn read_urls(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    if let Value::Text(_) = &at.node.value {
        return Some(vec![read_url(at, findings)?]);
    }
    let items = at.items_up_to(SERVERS_MAX, findings)?;
    if items.is_empty() {
        return at.expected("the URL of a server, or a list of URLs", findings);
    }
    let urls = items.iter().map(|item| read_url(item, findings));
    urls.collect()
}

fn read_url(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let url = at.text(findings)?;
    let address = url
        .strip_prefix("nats://")
        .or_else(|| url.strip_prefix("tls://"));
    let is_address = |address: &str| {
        let plain = address.bytes().all(|byte| byte.is_ascii_graphic());
        plain && !address.is_empty() && !address.contains(['/', '?', '#'])
    };
    match address {
        Some(address) if address.contains('@') => at.refuse(
            "a URL has no secrets: use 'credentials', 'nkey' or 'token'",
            findings,
        ),
        Some(address) if url.len() <= URL_MAX && is_address(address) => Some(url.to_owned()),
        Some(_) | None => {
            let message = format!(
                "'{}' is not the URL of a NATS server: nats://HOST:PORT or tls://HOST:PORT",
                short(url)
            );
            at.refuse(message, findings)
        }
    }
}

/// Reads `local`, `any` or `{label: WORD}`.
pub(super) fn read_placement(at: &Cursor<'_>, findings: &mut Findings) -> Option<Placement> {
    const EXPECTED: &str = "'local', 'any' or {label: NAME}";
    if let Value::Map(_) = &at.node.value {
        return at.mapping(findings, |fields| {
            let label = fields.required("label", |at, findings| read_word(at, "label", findings));
            label.map(Placement::Label)
        });
    }
    let text = if let Value::Text(text) = &at.node.value {
        text.as_str()
    } else {
        ""
    };
    match text {
        "local" => Some(Placement::Local),
        "any" => Some(Placement::Any),
        _ => at.expected(EXPECTED, findings),
    }
}

/// Returns whether a text can be a label or a tenant.
pub fn is_worker_word(word: &str) -> bool {
    let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=WORD_MAX).contains(&word.len()) && word.bytes().all(is_letter)
}

fn read_word(at: &Cursor<'_>, what: &str, findings: &mut Findings) -> Option<String> {
    let word = at.text(findings)?;
    if is_worker_word(word) {
        return Some(word.to_owned());
    }
    let message = format!(
        "a {what} is 1 to {WORD_MAX} letters from a to z, digits and '-', not '{}'",
        short(word)
    );
    at.refuse(message, findings)
}
