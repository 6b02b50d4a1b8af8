//! What an app's user granted, and what is returned for it.

use std::time::{Duration, SystemTime};

use toolhost_contract::ResourceName;

use crate::error::OAuthError;
use crate::secret::Secret;

/// The answer to a request for a token. Spec: requirements-v1 §12.6.2.
#[derive(Debug, Clone)]
pub enum TokenResult {
    /// A token that can be sent.
    Ready(AccessToken),
    /// A person must authorize the app first.
    AuthorizationRequired(AuthorizationRequired),
    /// Asking a person does not help, or cannot begin.
    Error(OAuthError),
}

/// An access token. `Debug` does not print it.
#[derive(Debug, Clone)]
pub struct AccessToken {
    pub(crate) secret: Secret,
    pub(crate) scopes: Vec<String>,
    pub(crate) expires_at: Option<SystemTime>,
}

impl AccessToken {
    /// Returns the token, as it is sent after `Bearer `: visible ASCII, at most 8,000 bytes.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Returns the scopes that were granted.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns when the token expires. None: the server did not state it.
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.expires_at
    }
}

/// What a person needs to authorize an app. Nothing in it is a secret. Spec: requirements-v1 §12.6.6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationRequired {
    /// The app.
    pub app: ResourceName,
    /// Id of the session, for [`OAuth::poll_device`](crate::OAuth::poll_device) and for notices.
    pub auth_session_id: String,
    /// The page to open in a browser.
    pub authorization_url: String,
    /// The code to enter there, if the app uses device codes.
    pub user_code: Option<String>,
    /// When the session expires.
    pub expires_at: SystemTime,
    /// One sentence for the person.
    pub message: String,
}

/// An authorization that was stored: the event `auth.granted`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// The app.
    pub app: ResourceName,
    /// The user. None: the grant is shared by all users ([`SubjectMode::Global`](crate::SubjectMode::Global)).
    pub subject: Option<String>,
    /// The session that ended with it.
    pub auth_session_id: String,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// When its access token expires. None: the server did not state it.
    pub expires_at: Option<SystemTime>,
}

/// A stored grant, without its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantInfo {
    /// The app.
    pub app: ResourceName,
    /// The user. None: shared by all users.
    pub subject: Option<String>,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// When it was granted.
    pub granted_at: SystemTime,
    /// When its access token expires. None: the server did not state it.
    pub expires_at: Option<SystemTime>,
    /// Whether it has a refresh token.
    pub can_refresh: bool,
}

/// What became of a device's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DevicePoll {
    /// The person has not decided yet. The server is asked again after this time at the earliest; a call
    /// before sends nothing.
    Pending {
        /// Time until the next request.
        after: Duration,
    },
    /// The grant is stored.
    Granted(Granted),
    /// The person refused.
    Denied,
    /// The session expired, or there is none of this id.
    Expired,
}

/// What became of a grant that was to be revoked. In each case it is not in the store any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    /// There was none.
    NoGrant,
    /// The server revoked its tokens.
    AtServer,
    /// It was removed here, and its tokens may still be valid.
    OnlyHere {
        /// Why the server did not revoke them.
        reason: String,
    },
}
