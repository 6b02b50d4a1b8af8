//! The answer of a token endpoint.

use std::time::Duration;

use oauth2::basic::BasicTokenType;
use oauth2::{AccessToken, RefreshToken, Scope, TokenResponse};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::secret::Secret;

/// Most bytes of a token.
const TOKEN_MAX: usize = 8000;

/// Longest lifetime that is believed: ten years.
const LIFETIME_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Tokens that can be sent.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// None: those that were requested.
    pub(crate) scopes: Option<Vec<String>>,
    /// None: unknown.
    pub(crate) expires_in: Option<Duration>,
}

/// The answer as it was sent. Its tokens are moved out of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TokenAnswer {
    access_token: AccessToken,
    #[serde(default = "bearer", deserialize_with = "token_type")]
    token_type: BasicTokenType,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<Duration>,
    #[serde(default)]
    refresh_token: Option<RefreshToken>,
    #[serde(default, rename = "scope", deserialize_with = "scopes")]
    scopes: Option<Vec<Scope>>,
}

impl TokenAnswer {
    /// Returns the tokens. None: one of them cannot be sent, or is of another type.
    pub(crate) fn into_tokens(self) -> Option<Tokens> {
        let access = Secret::new(self.access_token.into_secret());
        let refresh = self.refresh_token.map(|it| Secret::new(it.into_secret()));
        let is_sendable = |token: &Secret| {
            let token = token.expose();
            (1..=TOKEN_MAX).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic())
        };
        let all_sendable = is_sendable(&access) && refresh.as_ref().is_none_or(is_sendable);
        if !all_sendable || self.token_type != BasicTokenType::Bearer {
            return None;
        }
        let names = |scopes: Vec<Scope>| scopes.iter().map(|scope| scope.to_string()).collect();
        Some(Tokens {
            access,
            refresh,
            scopes: self.scopes.map(names),
            expires_in: self.expires_in,
        })
    }
}

impl TokenResponse for TokenAnswer {
    type TokenType = BasicTokenType;

    fn access_token(&self) -> &AccessToken {
        &self.access_token
    }

    fn token_type(&self) -> &BasicTokenType {
        &self.token_type
    }

    fn expires_in(&self) -> Option<Duration> {
        self.expires_in
    }

    fn refresh_token(&self) -> Option<&RefreshToken> {
        self.refresh_token.as_ref()
    }

    fn scopes(&self) -> Option<&Vec<Scope>> {
        self.scopes.as_ref()
    }
}

fn bearer() -> BasicTokenType {
    BasicTokenType::Bearer
}

fn token_type<'de, D: Deserializer<'de>>(from: D) -> Result<BasicTokenType, D::Error> {
    let text = String::deserialize(from)?;
    Ok(if text.eq_ignore_ascii_case("bearer") {
        BasicTokenType::Bearer
    } else {
        BasicTokenType::Extension(String::new())
    })
}

/// Reads a number, or a text with a number, as some servers send it. Anything else: unknown.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let value = match Value::deserialize(from)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let value = value.filter(|seconds: &f64| seconds.is_finite());
    Ok(value.map(|seconds| {
        let seconds = seconds.clamp(0.0, LIFETIME_MAX.as_secs_f64());
        Duration::from_secs_f64(seconds)
    }))
}

/// Reads scopes with spaces between them.
fn scopes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Scope>>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let split = |text: String| {
        let names = text.split_ascii_whitespace();
        names.map(|name| Scope::new(name.to_owned())).collect()
    };
    Ok(text.map(split))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Tokens> {
        serde_json::from_str::<TokenAnswer>(json)
            .ok()?
            .into_tokens()
    }

    #[test]
    fn bent_answers_are_read_as_far_as_they_are_safe() {
        let lifetime = |value: &str| {
            let json = format!(r#"{{"access_token":"a","expires_in":{value}}}"#);
            read(&json).unwrap().expires_in.map(|it| it.as_secs())
        };
        assert_eq!(lifetime("3600"), Some(3600));
        assert_eq!(lifetime("\"3600\""), Some(3600));
        assert_eq!(lifetime("-5"), Some(0));
        assert_eq!(lifetime("1e300"), Some(LIFETIME_MAX.as_secs()));
        for unknown in ["null", "\"soon\"", "[]", "{}", "true"] {
            assert_eq!(lifetime(unknown), None, "{unknown}");
        }
        let tokens = read(
            r#"{"access_token":"a","token_type":"BEARER","refresh_token":null,"scope":" a  b "}"#,
        );
        let tokens = tokens.unwrap();
        assert_eq!(tokens.scopes.unwrap(), ["a", "b"]);
        assert!(tokens.refresh.is_none());
    }

    #[test]
    fn a_token_that_cannot_be_sent_is_no_token() {
        for json in [
            r#"{}"#,
            r#"{"access_token":""}"#,
            r#"{"access_token":7}"#,
            r#"{"access_token":"a\r\nx: y"}"#,
            r#"{"access_token":"a","refresh_token":"b c"}"#,
            r#"{"access_token":"a","token_type":"mac"}"#,
            r#"[]"#,
        ] {
            assert!(read(json).is_none(), "{json}");
        }
        let long = "a".repeat(TOKEN_MAX + 1);
        assert!(read(&format!(r#"{{"access_token":"{long}"}}"#)).is_none());
    }
}
