//! An app at an authorization server.

use std::collections::BTreeMap;

use toolhost_contract::{OAuthClientAuth, OAuthFlow, ResourceName, SubjectMode};

use crate::endpoint::{Endpoint, Use};
use crate::secret::Secret;

/// Most scopes of an app.
const SCOPES_MAX: usize = 100;

/// Most bytes of a client's id, of a scope, and of a parameter.
const TEXT_MAX: usize = 1000;

/// Parameters of authorization requests that the flow sets.
const RESERVED: [&str; 9] = [
    "response_type",
    "client_id",
    "client_secret",
    "redirect_uri",
    "state",
    "scope",
    "code_challenge",
    "code_challenge_method",
    "response_mode",
];

/// An app: a client at an authorization server.
///
/// A grant belongs to the app's name, its subject, and to these fields: `token_url`, `client_id`, `origins`.
/// If one of them changes, a person must authorize the app again, so that a token is never sent elsewhere
/// than where it was granted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthApp {
    /// Name of the resource.
    pub name: ResourceName,
    /// How a person authorizes it.
    pub flow: OAuthFlow,
    /// Where a person decides. Needed for [`OAuthFlow::AuthorizationCode`].
    pub authorization_url: Option<String>,
    /// Where codes and refresh tokens are exchanged.
    pub token_url: String,
    /// Where device codes are issued. Needed for [`OAuthFlow::DeviceCode`].
    pub device_authorization_url: Option<String>,
    /// Where tokens are revoked (RFC 7009). None: a revoked grant is only removed from the store.
    pub revocation_url: Option<String>,
    /// If set, a callback that names another issuer is refused (RFC 9207), and so is one that names none.
    pub issuer: Option<String>,
    /// Id of the client at the server.
    pub client_id: String,
    /// Its secret. None: a public client.
    pub client_secret: Option<Secret>,
    /// How the secret is sent.
    pub client_auth: OAuthClientAuth,
    /// All scopes that may be requested. At most 100.
    pub scopes: Vec<String>,
    /// Whose account a grant is.
    pub subject_mode: SubjectMode,
    /// Where the browser is sent back to. Needed for [`OAuthFlow::AuthorizationCode`]. It is kept with a
    /// session, so that it may differ between sessions, as ports of loopback do.
    pub redirect: Option<String>,
    /// Further parameters of authorization requests, such as `access_type: offline`.
    pub parameters: BTreeMap<String, String>,
    /// The origins that get the token. They are part of the grant's identity; this crate sends nothing
    /// to them.
    pub origins: Vec<String>,
}

/// What is invalid in the definition of an app.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum OAuthAppError {
    /// The flow needs this field.
    #[error("the flow needs `{0}`")]
    Missing(&'static str),
    /// A URL cannot be used.
    #[error("`{field}` cannot be used: {reason}")]
    Url { field: &'static str, reason: String },
    /// A field has a value that cannot be sent.
    #[error("`{field}` is invalid: {reason}")]
    Field { field: &'static str, reason: String },
}

/// The URLs of an app that was checked.
#[derive(Debug, Clone)]
pub(crate) struct Endpoints {
    pub(crate) authorization: Option<Endpoint>,
    pub(crate) token: Endpoint,
    pub(crate) device_authorization: Option<Endpoint>,
    pub(crate) revocation: Option<Endpoint>,
    pub(crate) redirect: Option<Endpoint>,
}

impl OAuthApp {
    /// Checks what can be checked without a request: that the flow has its fields, and that URLs, scopes and
    /// parameters can be sent. URLs are `https`, or `http` on loopback. Whether an endpoint may be reached
    /// is checked when it is used.
    ///
    /// # Errors
    /// [`OAuthAppError`], the first that is found.
    pub fn check(&self) -> Result<(), OAuthAppError> {
        self.endpoints().map(drop)
    }

    pub(crate) fn endpoints(&self) -> Result<Endpoints, OAuthAppError> {
        let optional = |field, text: &Option<String>, purpose| {
            let parse = |text: &String| Endpoint::parse(text, purpose);
            let parsed = text.as_ref().map(parse).transpose();
            parsed.map_err(|reason| OAuthAppError::Url { field, reason })
        };
        let token = Endpoint::parse(&self.token_url, Use::Request);
        let token = token.map_err(|reason| OAuthAppError::Url {
            field: "tokenUrl",
            reason,
        })?;
        let authorization = "authorizationUrl";
        let device = "deviceAuthorizationUrl";
        let endpoints = Endpoints {
            authorization: optional(authorization, &self.authorization_url, Use::Browser)?,
            token,
            device_authorization: optional(device, &self.device_authorization_url, Use::Request)?,
            revocation: optional("revocationUrl", &self.revocation_url, Use::Request)?,
            redirect: optional("redirect", &self.redirect, Use::Browser)?,
        };
        match self.flow {
            OAuthFlow::AuthorizationCode => {
                let missing = OAuthAppError::Missing;
                endpoints
                    .authorization
                    .as_ref()
                    .ok_or(missing(authorization))?;
                endpoints.redirect.as_ref().ok_or(missing("redirect"))?;
            }
            OAuthFlow::DeviceCode => {
                let device_endpoint = endpoints.device_authorization.as_ref();
                device_endpoint.ok_or(OAuthAppError::Missing(device))?;
            }
        }
        self.check_texts()?;
        Ok(endpoints)
    }

    fn check_texts(&self) -> Result<(), OAuthAppError> {
        let invalid = |field, reason: String| Err(OAuthAppError::Field { field, reason });
        let is_text = |text: &str| {
            (1..=TEXT_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
        };
        if !is_text(&self.client_id) {
            let reason = "it must have 1 to 1000 visible ASCII characters";
            return invalid("clientId", reason.to_owned());
        }
        if self.scopes.len() > SCOPES_MAX {
            return invalid("scopes", format!("there are more than {SCOPES_MAX}"));
        }
        // RFC 6749 §3.3.
        let is_scope = |scope: &&String| !is_text(scope) || scope.contains(['"', '\\']);
        if let Some(scope) = self.scopes.iter().find(is_scope) {
            return invalid("scopes", format!("{scope:?} is not a scope"));
        }
        let parameters = self.parameters.iter();
        for (name, value) in parameters {
            if RESERVED.contains(&name.as_str()) {
                return invalid("parameters", format!("'{name}' is set by the flow"));
            }
            if !is_text(name) || value.len() > TEXT_MAX || value.contains(char::is_control) {
                return invalid("parameters", format!("{name:?} cannot be sent"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn app(server: &str) -> OAuthApp {
        let url = |path: &str| Some(format!("{server}{path}"));
        OAuthApp {
            name: ResourceName::parse("github").unwrap(),
            flow: OAuthFlow::AuthorizationCode,
            authorization_url: url("/auth"),
            token_url: format!("{server}/token"),
            device_authorization_url: url("/device/auth"),
            revocation_url: url("/token/revocation"),
            issuer: None,
            client_id: "client".to_owned(),
            client_secret: None,
            client_auth: OAuthClientAuth::Basic,
            scopes: vec!["read".to_owned(), "write".to_owned()],
            subject_mode: SubjectMode::Global,
            redirect: Some("http://127.0.0.1:8765/callback".to_owned()),
            parameters: BTreeMap::new(),
            origins: vec!["https://api.example".to_owned()],
        }
    }

    #[test]
    fn an_app_is_checked_field_by_field() {
        let check = |change: fn(&mut OAuthApp), expected: &str| {
            let mut app = app("https://auth.example");
            change(&mut app);
            let message = app.check().map_err(|error| error.to_string());
            let message = message.err().unwrap_or_default();
            assert!(message.contains(expected), "{message:?}, not {expected:?}");
            assert_eq!(message.is_empty(), expected.is_empty(), "{message:?}");
        };
        check(|_| (), "");
        check(|app| app.authorization_url = None, "authorizationUrl");
        check(|app| app.redirect = None, "redirect");
        check(|app| app.flow = OAuthFlow::DeviceCode, "");
        check(
            |app| {
                app.flow = OAuthFlow::DeviceCode;
                app.device_authorization_url = None;
            },
            "deviceAuthorizationUrl",
        );
        check(
            |app| app.token_url = "http://auth.example/t".into(),
            "https",
        );
        check(|app| app.token_url = "http://127.0.0.1:1/t".into(), "");
        check(
            |app| app.token_url = "https://a@auth.example/t".into(),
            "user",
        );
        check(|app| app.revocation_url = Some("ftp://a/".into()), "https");
        check(
            |app| app.redirect = Some("http://evil.example/".into()),
            "https",
        );
        check(
            |app| app.redirect = Some("https://a.example/#x".into()),
            "#",
        );
        check(|app| app.client_id = String::new(), "clientId");
        check(|app| app.scopes.push("a b".into()), "scope");
        check(|app| app.scopes.push("\"".into()), "scope");
        let state = |app: &mut OAuthApp| {
            app.parameters.insert("state".into(), "x".into());
        };
        check(state, "set by the flow");
    }

    #[test]
    fn debug_output_of_an_app_has_no_secret() {
        let mut app = app("https://auth.example");
        app.client_secret = Some(Secret::new("client-secret-1"));
        assert!(!format!("{app:?}").contains("client-secret-1"));
    }
}
