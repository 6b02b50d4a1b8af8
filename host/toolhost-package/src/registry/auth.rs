//! What a registry asks for with status 401: a password, or a token of a token server.

use std::collections::HashMap;

use http::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use serde::Deserialize;
use url::Url;
use zeroize::Zeroizing;

use crate::credentials::Credential;

/// Most bytes of the answer of a token server.
pub(super) const TOKEN_MAX: u64 = 64 << 10;

/// What a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A user and a password with each request.
    Basic,
    /// A token of this server.
    Bearer {
        realm: Url,
        /// The name of the registry there.
        service: Option<String>,
        /// What the token is for.
        scope: Option<String>,
    },
}

/// The answer of a token server.
#[derive(Deserialize)]
pub(super) struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Token {
    /// Returns the header with the token.
    pub(super) fn header(self) -> Option<HeaderValue> {
        let token = Zeroizing::new(self.token.or(self.access_token)?);
        secret(&Zeroizing::new(format!("Bearer {}", *token)))
    }
}

/// Returns the header with a user and a password.
pub(super) fn basic(user: &str, password: &str) -> Option<HeaderValue> {
    let pair = Zeroizing::new(format!("{user}:{password}"));
    let encoded = Zeroizing::new(data_encoding::BASE64.encode(pair.as_bytes()));
    secret(&Zeroizing::new(format!("Basic {}", *encoded)))
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Challenge {
    /// Reads the headers of a response with status 401.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
        let bearer = texts.iter().find_map(|text| bearer(text));
        bearer.or_else(|| {
            let mut schemes = texts
                .iter()
                .filter_map(|text| text.split_whitespace().next());
            schemes
                .any(|scheme| scheme.eq_ignore_ascii_case("basic"))
                .then_some(Self::Basic)
        })
    }

    /// Returns the URL at which a token is asked for.
    pub(super) fn token_url(realm: &Url, service: Option<&str>, scope: &str) -> Url {
        let mut url = realm.clone();
        let mut query = url.query_pairs_mut();
        if let Some(service) = service {
            query.append_pair("service", service);
        }
        query.append_pair("scope", scope);
        drop(query);
        url
    }

    /// Returns the body with which an identity token is exchanged.
    pub(super) fn exchange_body(
        credential: &Credential,
        service: Option<&str>,
        scope: &str,
    ) -> Option<String> {
        let Credential::IdentityToken(token) = credential else {
            return None;
        };
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.append_pair("grant_type", "refresh_token")
            .append_pair("client_id", "toolhost")
            .append_pair("service", service.unwrap_or_default())
            .append_pair("scope", scope)
            .append_pair("refresh_token", token);
        Some(body.finish())
    }
}

fn bearer(text: &str) -> Option<Challenge> {
    let (scheme, parameters) = text.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut values = parameters_of(parameters);
    Some(Challenge::Bearer {
        realm: Url::parse(values.get("realm")?).ok()?,
        service: values.remove("service"),
        scope: values.remove("scope"),
    })
}

/// Reads `name="value", name=value`. A value in quotes may have commas.
fn parameters_of(text: &str) -> HashMap<String, String> {
    let mut values = HashMap::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',']).to_ascii_lowercase();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        values.entry(name).or_insert_with(|| value.to_owned());
        rest = next;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(texts: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for text in texts {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(text).unwrap());
        }
        Challenge::of(&headers)
    }

    #[test]
    fn challenges_are_read_in_the_forms_that_registries_send() {
        let expected = Some(Challenge::Bearer {
            realm: Url::parse("https://ghcr.io/token").unwrap(),
            service: Some("ghcr.io".to_owned()),
            scope: Some("repository:me/text:pull,push".to_owned()),
        });
        let text = r#"Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:me/text:pull,push""#;
        assert_eq!(challenge(&[text]), expected);
        assert_eq!(
            challenge(&["Basic realm=\"x\"", &text.replace(",s", ", s")]),
            expected
        );
        assert_eq!(challenge(&["basic realm=x"]), Some(Challenge::Basic));
        for text in [
            "Bearer",
            "Bearer service=x",
            "Bearer realm=nowhere",
            "Digest realm=\"x\"",
            "",
            "=",
        ] {
            assert_eq!(challenge(&[text]), None, "{text}");
        }
    }

    #[test]
    fn the_url_of_a_token_keeps_the_query_of_the_realm() {
        let realm = Url::parse("https://a/token?x=1").unwrap();
        let url = Challenge::token_url(&realm, Some("a b"), "repository:me/text:pull");
        assert_eq!(
            url.as_str(),
            "https://a/token?x=1&service=a+b&scope=repository%3Ame%2Ftext%3Apull"
        );
    }
}
