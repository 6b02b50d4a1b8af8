//! The parts of a signed token, and what its claims must be.

use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;
use serde_json::Value;
use toolhost::tool::JsonLimits;

use super::token_error::TokenError;

/// Limits of the JSON of authorization servers and of tokens. Numbers in claims that are not read may be of any size.
pub(super) const JSON: JsonLimits = JsonLimits::ANSWER.rounding_integers();

/// Seconds by which the clocks of this machine and of the issuer may differ.
const LEEWAY: f64 = 60.0;

/// Longest subject, in bytes.
const SUBJECT_BYTES_MAX: usize = 256;

/// The header of a token.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    pub(super) kid: Option<String>,
    /// Extensions that must be understood (RFC 7515 §4.1.11). None is.
    crit: Option<Value>,
    typ: Option<String>,
}

impl Header {
    /// Many authorization servers use `JWT` where RFC 9068 asks for `at+jwt`.
    fn is_understood(&self) -> bool {
        let is_known = |typ: &String| {
            let types = ["JWT", "at+jwt", "application/at+jwt"];
            types.iter().any(|name| name.eq_ignore_ascii_case(typ))
        };
        self.crit.is_none() && self.typ.as_ref().is_none_or(is_known)
    }
}

/// The parts of a token. Its signature has not been checked.
pub(super) struct UnverifiedToken<'a> {
    pub(super) header: Header,
    /// What is signed: header and payload as they were sent.
    pub(super) message: &'a str,
    pub(super) signature: Vec<u8>,
    payload: Vec<u8>,
}

/// Splits a token.
pub(super) fn parse(text: &str) -> Result<UnverifiedToken<'_>, TokenError> {
    let decoded = |text: &str| BASE64URL_NOPAD.decode(text.as_bytes()).ok();
    let parts = text.rsplit_once('.').and_then(|(message, signature)| {
        let (header, payload) = message.split_once('.')?;
        let header: Header = JSON.parse_bytes(&decoded(header)?).ok()?;
        Some(UnverifiedToken {
            header,
            message,
            signature: decoded(signature)?,
            payload: decoded(payload)?,
        })
    });
    match parts {
        Some(token) if token.header.is_understood() => Ok(token),
        Some(_) | None => Err(TokenError::Malformed),
    }
}

/// The claims that are checked. A claim of another type makes the token malformed.
#[derive(Debug, Deserialize)]
struct Claims {
    iss: Option<String>,
    aud: Option<OneOrMany>,
    sub: Option<String>,
    exp: Option<f64>,
    nbf: Option<f64>,
    scope: Option<String>,
    scp: Option<OneOrMany>,
}

/// One text, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Several(Vec<String>),
}

impl OneOrMany {
    fn contains(&self, text: &str) -> bool {
        match self {
            Self::One(one) => one == text,
            Self::Several(several) => several.iter().any(|one| one == text),
        }
    }
}

/// What the claims of a valid token are.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) resource: &'a str,
    pub(super) scopes: &'a [String],
    pub(super) now: SystemTime,
}

impl Expected<'_> {
    /// Checks the claims of a token. Returns its subject.
    pub(super) fn subject_of(&self, token: &UnverifiedToken<'_>) -> Result<String, TokenError> {
        let claims = JSON.parse_bytes(&token.payload);
        let claims: Claims = claims.map_err(|_| TokenError::Malformed)?;
        if claims.iss.as_deref() != Some(self.issuer) {
            return Err(TokenError::Issuer);
        }
        let is_for_this = |audience: &OneOrMany| audience.contains(self.resource);
        if !claims.aud.as_ref().is_some_and(is_for_this) {
            return Err(TokenError::Audience);
        }
        let now = self.now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = now.as_secs_f64();
        let has_expired = claims.exp.is_none_or(|end| end + LEEWAY <= now);
        let is_early = claims.nbf.is_some_and(|start| start - LEEWAY > now);
        if has_expired || is_early {
            return Err(TokenError::Time);
        }
        if !self.scopes.iter().all(|scope| claims.has_scope(scope)) {
            return Err(TokenError::Scope(self.scopes.join(" ")));
        }
        let subject = claims.sub.unwrap_or_default();
        if subject.is_empty() || subject.len() > SUBJECT_BYTES_MAX {
            return Err(TokenError::Subject);
        }
        Ok(subject)
    }
}

impl Claims {
    fn has_scope(&self, scope: &str) -> bool {
        let texts = self.scope.as_deref().unwrap_or_default();
        let in_list = |list: &OneOrMany| match list {
            OneOrMany::One(texts) => texts.split(' ').any(|text| text == scope),
            OneOrMany::Several(_) => list.contains(scope),
        };
        texts.split(' ').any(|text| text == scope) || self.scp.as_ref().is_some_and(in_list)
    }
}
