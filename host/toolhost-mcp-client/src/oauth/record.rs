//! What is kept of an authorization.

use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::oauth::Secret;

/// A token is renewed when it is valid for less than this.
const RENEW_BEFORE: Duration = Duration::from_secs(30);

/// The format of records.
const VERSION: u32 = 1;

/// The client at an authorization server, and its tokens for one MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct TokenRecord {
    version: u32,
    /// The MCP server that gets the token.
    pub(super) url: String,
    /// The authorization server that gets the rest.
    pub(super) issuer: Option<String>,
    pub(super) client_id: String,
    /// The secret of a dynamically registered client. The policy's own is not stored.
    pub(super) client_secret: Option<Secret>,
    /// Where the client is registered to receive codes.
    pub(super) redirect_uri: String,
    /// The scopes that were asked for.
    pub(super) scopes: Vec<String>,
    pub(super) access_token: Secret,
    pub(super) refresh_token: Option<Secret>,
    /// Seconds since 1970; none: unknown.
    expires_at: Option<u64>,
}

/// A client at an authorization server.
#[derive(Debug, Clone)]
pub(super) struct ClientRegistration {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    pub(super) redirect_uri: String,
}

impl TokenRecord {
    /// Makes a record of the answer of a token endpoint. None: it has no token that can be sent.
    pub(super) fn new(
        url: &str,
        issuer: Option<String>,
        client: &ClientRegistration,
        scopes: Vec<String>,
        answer: &Value,
    ) -> Option<Self> {
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        let is_sendable = |token: &&str| {
            (1..=8000).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic())
        };
        let expires_in = answer.get("expires_in").and_then(Value::as_u64);
        Some(Self {
            version: VERSION,
            url: url.to_owned(),
            issuer,
            client_id: client.id.clone(),
            client_secret: client.secret.clone(),
            redirect_uri: client.redirect_uri.clone(),
            scopes,
            access_token: text("access_token").filter(is_sendable).map(Secret::new)?,
            refresh_token: text("refresh_token").map(Secret::new),
            expires_at: expires_in.map(|seconds| now().saturating_add(seconds)),
        })
    }

    /// Reads a record for a server, if it is one of this version.
    pub(super) fn parse(json: &Secret, url: &str) -> Option<Self> {
        let record: Self = serde_json::from_str(json.expose()).ok()?;
        (record.version == VERSION && record.url == url).then_some(record)
    }

    /// Returns the record as it is stored.
    pub(super) fn to_secret(&self) -> Secret {
        let text = |secret: &Option<Secret>| secret.as_ref().map(|it| it.expose().to_owned());
        let record = json!({
            "version": self.version,
            "url": self.url,
            "issuer": self.issuer,
            "client_id": self.client_id,
            "client_secret": text(&self.client_secret),
            "redirect_uri": self.redirect_uri,
            "scopes": self.scopes,
            "access_token": self.access_token.expose(),
            "refresh_token": text(&self.refresh_token),
            "expires_at": self.expires_at,
        });
        Secret::new(record.to_string())
    }

    pub(super) fn client(&self) -> ClientRegistration {
        ClientRegistration {
            id: self.client_id.clone(),
            secret: self.client_secret.clone(),
            redirect_uri: self.redirect_uri.clone(),
        }
    }

    /// Whether the access token has expired, or will within half a minute.
    pub(super) fn is_expired(&self) -> bool {
        self.expires_at
            .is_some_and(|at| at < now().saturating_add(RENEW_BEFORE.as_secs()))
    }

    /// The answer of a token endpoint that would make this record.
    pub(super) fn as_answer(&self) -> Value {
        let refresh = self.refresh_token.as_ref().map(Secret::expose);
        json!({
            "access_token": self.access_token.expose(),
            "token_type": "bearer",
            "refresh_token": refresh,
        })
    }

    /// The secrets, for redaction.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let others = [&self.client_secret, &self.refresh_token];
        let others = others.into_iter().flatten().map(Secret::expose);
        others.chain([self.access_token.expose()])
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
