//! What an app's user granted, and what is returned for it.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use toolhost_contract::{AuthorizationRequired, ResourceName, Timestamp};

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

/// An authorization that was stored: what the event `auth.granted` tells. It contains no token.
///
/// Spec: requirements-v1 §12.6.4(5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Granted {
    /// The app.
    pub app: ResourceName,
    /// The user. None: the grant is shared by all users ([`SubjectMode::Global`](crate::SubjectMode::Global)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The session that ended with it.
    pub auth_session_id: String,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// When its access token expires. None: the server did not state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A stored grant, without its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantInfo {
    /// The app.
    pub app: ResourceName,
    /// The user. None: shared by all users.
    pub subject: Option<String>,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// When it was granted.
    pub granted_at: Timestamp,
    /// When its access token expires. None: the server did not state it.
    pub expires_at: Option<Timestamp>,
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
