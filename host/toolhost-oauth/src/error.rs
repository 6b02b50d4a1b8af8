//! What goes wrong. No message has a token, a code or a client's secret.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use toolhost_contract::ResourceName;
use toolhost_store::StoreError;

use crate::app::OAuthAppError;

/// Why there is no token, and asking a person does not help or cannot begin.
#[derive(Debug, Clone, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum OAuthError {
    /// The app's definition is invalid.
    #[error("OAuthApp {app}: {reason}")]
    InvalidApp {
        app: ResourceName,
        /// What is invalid.
        #[source]
        reason: OAuthAppError,
    },
    /// The app has a grant for each user, and the call has no user.
    #[error(
        "OAuthApp {app} has a grant for each user, and this call has no user: pass the turn's user, or set `subjectMode: global`"
    )]
    NoSubject { app: ResourceName },
    /// A scope was requested that the app does not have.
    #[error(
        "OAuthApp {app} does not have the scope '{scope}': add it to its `scopes`, or do not request it"
    )]
    Scope { app: ResourceName, scope: String },
    /// The authorization server did not answer, or not as OAuth requires. What is stored is kept.
    #[error("the authorization server of OAuthApp {app} is not available: {reason}")]
    Unavailable {
        app: ResourceName,
        reason: String,
        /// No request is sent before this time.
        retry_at: Option<SystemTime>,
    },
    /// The authorization server refused the client or its request. What is stored is kept.
    #[error(
        "the authorization server of OAuthApp {app} refused the request with '{code}': check its client and its scopes"
    )]
    Refused {
        app: ResourceName,
        /// The server's error code, such as `invalid_client`.
        code: String,
    },
    /// A stored secret does not open with this key.
    #[error(
        "the grant of OAuthApp {app} does not open with this key: use the key file that it was stored with, or remove the grant with `toolhost auth revoke {app}`"
    )]
    Unreadable { app: ResourceName },
    /// Another process held the grant for longer than a refresh can take.
    #[error(
        "another process refreshes the grant of OAuthApp {app}, and did not end in time: try again"
    )]
    Busy { app: ResourceName },
    /// Another process held the right to renew the tokens of an MCP server for longer than a renewal can take.
    #[error(
        "another process renews the tokens of the MCP server '{server}', and did not end in time"
    )]
    ServerBusy { server: ResourceName },
    /// The state store failed.
    #[error("the grants could not be read or stored")]
    Store(#[source] Arc<StoreError>),
    /// The key could not be read or made.
    #[error("the key of the grants could not be read: {0}")]
    Key(#[source] Arc<io::Error>),
    /// The task that sent the request ended early.
    #[error("the request to the authorization server was cut off: try again")]
    CutOff,
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    Random,
}

impl From<StoreError> for OAuthError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// Why a callback granted nothing.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// The query has no `state`, or neither `code` nor `error`, or one of them twice.
    #[error("the callback's query is not an answer of an authorization server: {0}")]
    Malformed(&'static str),
    /// No session has this state: it never existed, was used before, or was replaced.
    #[error(
        "no authorization is open for this callback: it was used before, or its link expired; begin again"
    )]
    UnknownSession,
    /// The session exists, and its state is another one.
    #[error("the callback's state does not match its session; begin again")]
    StateMismatch,
    /// The session expired.
    #[error("the authorization was not completed in time; begin again")]
    Expired,
    /// The person or the server refused.
    #[error("the authorization was refused with '{code}'")]
    Denied {
        /// The server's error code, such as `access_denied`.
        code: String,
    },
    /// The answer came from another authorization server.
    #[error("the callback names another issuer than the app has; begin again")]
    Issuer,
    /// None of the apps is the one that the session belongs to, or its endpoints or its client changed.
    #[error("OAuthApp {app} does not exist any more, or was changed since; begin again")]
    AppChanged {
        /// Name of the app.
        app: ResourceName,
    },
    /// The code was not exchanged, or the grant not stored.
    #[error(transparent)]
    Failed(#[from] OAuthError),
}
