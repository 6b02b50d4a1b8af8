//! The resource `OAuthApp`, and what a call needs before it may use one.

use serde::{Deserialize, Serialize};

use crate::{ResourceMetadata, ResourceName, Timestamp};

/// `kind: OAuthApp`: an OAuth client at an authorization server, if the operator's policy grants exactly it.
///
/// Spec: requirements-v1 §12.6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthAppResource {
    /// Name and labels.
    pub metadata: ResourceMetadata,
    /// `spec`.
    pub spec: OAuthAppSpec,
}

/// `spec` of an OAuthApp. It contains no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthAppSpec {
    /// How a user grants access.
    pub flow: OAuthFlow,
    /// Whose grant a call uses.
    pub subject_mode: SubjectMode,
    /// The identifier of the client.
    pub client_id: OAuthClientId,
    /// The variable of the app's `env` in the policy that contains the client's secret. None: a public client.
    pub client_secret: Option<String>,
    /// How the secret is sent.
    pub client_auth: OAuthClientAuth,
    /// The URLs of the authorization server.
    pub endpoints: OAuthEndpoints,
    /// The scopes to ask for.
    pub scopes: Vec<String>,
    /// Further parameters of authorization requests, such as `access_type: offline`, sorted by name.
    pub parameters: Vec<(String, String)>,
    /// The origins, such as `https://api.example.com`, that get the tokens. At least one, sorted.
    pub origins: Vec<String>,
    /// Where the authorization server sends the user's browser.
    pub redirect: OAuthRedirect,
}

/// The identifier of an OAuth client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OAuthClientId {
    /// The identifier itself.
    Text(String),
    /// The variable of the app's `env` in the policy that contains it.
    Env(String),
}

/// How a client sends its secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OAuthClientAuth {
    /// In the header `authorization`: `client_secret_basic`.
    #[default]
    Basic,
    /// In the body: `client_secret_post`.
    Body,
}

/// How a user grants access to an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OAuthFlow {
    /// In a browser that the authorization server redirects: the authorization-code flow with PKCE.
    AuthorizationCode,
    /// On another device, with a code that the user enters there.
    DeviceCode,
}

/// Whose grant a call uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SubjectMode {
    /// One grant for all turns.
    Global,
    /// The grant of the turn's subject.
    User,
}

/// The URLs of an authorization server: `https`, or `http` at a loopback address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuthEndpoints {
    /// The page that the user opens; always present for [`OAuthFlow::AuthorizationCode`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_url: Option<String>,
    /// Where codes and refresh tokens are exchanged.
    pub token_url: String,
    /// Where a device code is requested; always present for [`OAuthFlow::DeviceCode`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_authorization_url: Option<String>,
    /// Where tokens are revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revocation_url: Option<String>,
    /// The issuer that callbacks must name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

/// Where the authorization server sends the user's browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OAuthRedirect {
    /// A path of a port of 127.0.0.1, such as `/oauth/callback`.
    Loopback {
        /// The path.
        path: String,
    },
    /// A URL, such as that of a runtime's own server.
    Url(String),
}

/// What a user has to do before a call may use an app. It contains no token, no verifier and no device code.
///
/// Spec: requirements-v1 §12.6.2, §12.6.6.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthorizationRequired {
    /// The OAuthApp.
    pub app: ResourceName,
    /// Identifies the authorization until it is completed or has expired.
    pub auth_session_id: String,
    /// The page that the user opens.
    pub authorization_url: String,
    /// The code that the user enters there, if the app uses device codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_code: Option<String>,
    /// When the authorization expires.
    pub expires_at: Timestamp,
    /// What to do, for the user.
    pub message: String,
}
