//! The handle: grants, and how they are made.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::broadcast;
use toolhost_contract::{AuthorizationRequired, ResourceName, Timestamp};

use crate::access::{TokenRequest, begin_for_person, obtain, stored_token};
use crate::app::OAuthApp;
use crate::cipher::Cipher;
use crate::clock::{Clock, SystemClock, time_of};
use crate::code_flow::{self, Callback};
use crate::device;
use crate::egress::OAuthEgress;
use crate::error::{CallbackError, OAuthError};
use crate::key::OAuthKey;
use crate::resolved_app::{ResolvedApp, subject_of};
use crate::revoke::revoke;
use crate::server_credentials::ServerCredentials;
use crate::shared::OAuthContext;
use crate::store::grants::Listed;
use crate::store::{OAuthStore, Tables};
use crate::token::{AccessToken, DevicePoll, GrantInfo, Granted, Revoked, TokenResult};

/// Events of grants that wait for a receiver.
const EVENTS: usize = 64;

/// What [`OAuth::open`] needs.
pub struct OAuthConfig {
    /// Where sessions and grants are kept.
    pub store: OAuthStore,
    /// The key that encrypts them.
    pub key: Arc<dyn OAuthKey>,
    /// How authorization servers are reached.
    pub egress: OAuthEgress,
    /// Default: the system's.
    pub clock: Arc<dyn Clock>,
    /// How long a person has to authorize an app. Default: 10 min. A server may give a device code less time.
    pub session_time: Duration,
}

impl OAuthConfig {
    /// A configuration with defaults.
    pub fn new(store: OAuthStore, key: Arc<dyn OAuthKey>, egress: OAuthEgress) -> Self {
        Self {
            store,
            key,
            egress,
            clock: Arc::new(SystemClock),
            session_time: Duration::from_secs(600),
        }
    }
}

impl fmt::Debug for OAuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthConfig")
            .field("store", &self.store)
            .field("egress", &self.egress)
            .finish_non_exhaustive()
    }
}

/// The grants of a state root. Cheap to clone; every clone is the same.
#[derive(Debug, Clone)]
pub struct OAuth {
    shared: Arc<OAuthContext>,
}

impl OAuth {
    /// Opens the grants. Reads the key, or makes it; blocks while it does.
    ///
    /// # Errors
    /// [`OAuthError::Key`].
    pub fn open(config: OAuthConfig) -> Result<Self, OAuthError> {
        let key = config.key.key();
        let key = key.map_err(|error| OAuthError::Key(Arc::new(error)))?;
        let (granted, _) = broadcast::channel(EVENTS);
        let shared = OAuthContext {
            tables: Tables::new(config.store, Cipher::new(&key)),
            egress: config.egress,
            clock: config.clock,
            session_time: config.session_time,
            granted,
            unbegun: Mutex::new(HashMap::new()),
            locks: Mutex::new(HashMap::new()),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns an access token of an app. `subject` is the user of the call; an app with
    /// [`SubjectMode::Global`](crate::SubjectMode::Global) ignores it. `scopes` must be scopes of the app;
    /// none: all of them. A token that is valid for less than `min_ttl`, or a minute, is refreshed first, but
    /// not before half of its lifetime. While a refresh fails, the old token is returned until it expires.
    ///
    /// If there is no token, a session is made, or one that is open is returned again. For device codes
    /// the server is asked whether the person has decided, as often as it allows.
    ///
    /// Dropping the future loses no token: a request that was sent is completed and its answer stored.
    /// Spec: requirements-v1 §12.6.1.
    pub async fn access_token(
        &self,
        app: &OAuthApp,
        subject: Option<&str>,
        scopes: Option<&[String]>,
        min_ttl: Duration,
    ) -> TokenResult {
        let shared = &self.shared;
        let future = async {
            let request = request(app, subject, scopes, min_ttl)?;
            if let Some(token) = stored_token(shared, &request).await? {
                return Ok(TokenResult::Ready(token));
            }
            let token = obtain(Arc::clone(shared), request);
            shared.complete(token).await
        };
        future.await.unwrap_or_else(TokenResult::Error)
    }

    /// Begins an authorization, even if there is a grant. The grant is replaced once a person has authorized
    /// the app. Arguments as [`access_token`](Self::access_token).
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn authorize(
        &self,
        app: &OAuthApp,
        subject: Option<&str>,
        scopes: Option<&[String]>,
    ) -> Result<AuthorizationRequired, OAuthError> {
        let request = request(app, subject, scopes, Duration::ZERO)?;
        let authorization = begin_for_person(Arc::clone(&self.shared), request);
        self.shared.complete(authorization).await
    }

    /// Completes an authorization with the query of the URL to which the browser was sent: what follows `?`.
    /// Checks state, session, expiry and single use, exchanges the code with the session's verifier,
    /// and stores the grant. `apps` are those that may be granted. Spec: requirements-v1 §12.6.4.
    ///
    /// # Errors
    /// [`CallbackError`].
    pub async fn callback(&self, query: &str, apps: &[OAuthApp]) -> Result<Granted, CallbackError> {
        let callback = Callback::parse(query)?;
        let (shared, apps) = (Arc::clone(&self.shared), apps.to_vec());
        let completed = async move { code_flow::complete(&shared, callback, &apps).await };
        self.shared.complete(completed).await
    }

    /// Asks the server whether the person has authorized a device, unless it is too early to ask.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn poll_device(
        &self,
        app: &OAuthApp,
        auth_session_id: &str,
    ) -> Result<DevicePoll, OAuthError> {
        let app = ResolvedApp::new(app)?;
        let (shared, id) = (Arc::clone(&self.shared), auth_session_id.to_owned());
        let polled = async move { device::poll(&shared, &app, &id).await };
        self.shared.complete(polled).await
    }

    /// Returns all grants, by app and subject.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    pub async fn grants(&self) -> Result<Vec<GrantInfo>, OAuthError> {
        let info = |grant: Listed| {
            Some(GrantInfo {
                app: ResourceName::parse(&grant.key.app).ok()?,
                subject: subject_of(&grant.key),
                scopes: grant.scopes,
                granted_at: Timestamp(time_of(grant.granted_ms)),
                expires_at: grant.expires_ms.map(|ms| Timestamp(time_of(ms))),
                can_refresh: grant.can_refresh,
            })
        };
        let grants = self.shared.tables.list_grants().await?;
        Ok(grants.into_iter().filter_map(info).collect())
    }

    /// Removes the grant of an app, after asking the server to revoke its tokens. The grant is removed whatever
    /// the server answers.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn revoke(
        &self,
        app: &OAuthApp,
        subject: Option<&str>,
    ) -> Result<Revoked, OAuthError> {
        let app = ResolvedApp::new(app)?;
        let key = app.key(subject)?;
        let revoked = revoke(Arc::clone(&self.shared), app, key);
        self.shared.complete(revoked).await
    }

    /// Removes grants from the store alone: those of apps that no bundle defines any more, or that do not open.
    /// `subject` none: those that all users share. Returns how many there were.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    pub async fn forget(
        &self,
        app: &ResourceName,
        subject: Option<&str>,
    ) -> Result<usize, OAuthError> {
        let (app, subject) = (app.to_string(), subject.unwrap_or_default());
        self.shared.tables.remove(&app, subject, None).await
    }

    /// Marks an access token as expired that a server refused before its time, so that the next request for a
    /// token refreshes it. Another token that was stored meanwhile is kept.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn reject(
        &self,
        app: &OAuthApp,
        subject: Option<&str>,
        token: &AccessToken,
    ) -> Result<(), OAuthError> {
        let key = ResolvedApp::new(app)?.key(subject)?;
        self.shared.tables.expire(&key, &token.secret).await
    }

    /// Returns what is kept for an MCP server at a URL.
    pub fn server(&self, server: &ResourceName, url: &str) -> ServerCredentials {
        ServerCredentials::new(Arc::clone(&self.shared), server.clone(), url)
    }

    /// Returns the grants that are stored from now on by this process, each once: the event `auth.granted`.
    /// A receiver that falls 64 behind misses the oldest.
    pub fn granted(&self) -> broadcast::Receiver<Granted> {
        self.shared.granted.subscribe()
    }
}

fn request(
    app: &OAuthApp,
    subject: Option<&str>,
    scopes: Option<&[String]>,
    min_ttl: Duration,
) -> Result<TokenRequest, OAuthError> {
    let app = ResolvedApp::new(app)?;
    Ok(TokenRequest {
        key: app.key(subject)?,
        scopes: app.scopes(scopes)?,
        min_ttl,
        app,
    })
}
