//! The handle: grants, and how they are made.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::broadcast;
use toolhost_contract::{AddressBlock, ResourceName};
use toolhost_sandbox::Sandbox;
use toolhost_store::{Schema, Store};

use crate::app::OAuthApp;
use crate::error::{CallbackError, OAuthError};
use crate::key::OAuthKey;
use crate::token::{
    AccessToken, AuthorizationRequired, DevicePoll, GrantInfo, Granted, TokenResult,
};

/// Returns the time. Tests set their own.
pub trait Clock: Send + Sync {
    /// Returns the time of day.
    fn now(&self) -> SystemTime;
}

/// The clock of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// The tables of sessions and grants, in the database of a state root.
#[derive(Debug, Clone)]
pub struct OAuthStore {
    #[expect(dead_code, reason = "the flows are not built yet")]
    pub(crate) store: Store,
}

/// The tables.
const SCHEMA: Schema = Schema {
    owner: "oauth",
    steps: &[],
    legacy_versions: &[],
};

impl OAuthStore {
    /// Opens the tables in the database of a state root. Several processes may share it.
    ///
    /// # Errors
    /// [`OAuthError::Store`] as [`Store::open`].
    pub fn open(state_root: &Path) -> Result<Self, OAuthError> {
        let store = Store::open(state_root, &SCHEMA)?;
        Ok(Self { store })
    }

    /// Makes tables that live as long as this value.
    ///
    /// # Errors
    /// [`OAuthError::Store`] as [`Store::in_memory`].
    pub fn in_memory() -> Result<Self, OAuthError> {
        let store = Store::in_memory(&SCHEMA)?;
        Ok(Self { store })
    }
}

/// How authorization servers are reached: over the network of guests, at the endpoints of one app.
#[derive(Clone)]
pub struct OAuthEgress {
    /// Sends the requests.
    pub sandbox: Sandbox,
    /// Non-public addresses at which endpoints may be. Default: none, not even loopback.
    pub private_networks: Vec<AddressBlock>,
    /// Time for one request and its answer. Default: 30 s.
    pub request_time: Duration,
}

impl OAuthEgress {
    /// Reaches public addresses over this sandbox's network.
    #[must_use]
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            private_networks: Vec::new(),
            request_time: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for OAuthEgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthEgress")
            .field("private_networks", &self.private_networks)
            .field("request_time", &self.request_time)
            .finish_non_exhaustive()
    }
}

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
    #[must_use]
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
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    #[expect(dead_code, reason = "the flows are not built yet")]
    config: OAuthConfig,
    granted: broadcast::Sender<Granted>,
}

impl OAuth {
    /// Opens the grants. Reads the key, or makes it; blocks while it does.
    ///
    /// # Errors
    /// [`OAuthError::Key`].
    pub fn open(config: OAuthConfig) -> Result<Self, OAuthError> {
        config
            .key
            .key()
            .map_err(|error| OAuthError::Key(Arc::new(error)))?;
        let (granted, _) = broadcast::channel(64);
        Ok(Self {
            inner: Arc::new(Inner { config, granted }),
        })
    }

    /// Returns an access token of an app. `subject` is the user of the call; an app with
    /// [`SubjectMode::Global`](crate::SubjectMode::Global) ignores it. `scopes` must be scopes of the app;
    /// none: all of them. A token that is valid for less than `min_ttl` is refreshed first.
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
        let _ = (subject, scopes, min_ttl);
        TokenResult::Error(unbuilt(app))
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
        let _ = (subject, scopes);
        Err(unbuilt(app))
    }

    /// Completes an authorization with the query of the URL to which the browser was sent: what follows `?`.
    /// Checks state, session, expiry and single use, exchanges the code with the session's verifier,
    /// and stores the grant. `apps` are those that may be granted. Spec: requirements-v1 §12.6.4.
    ///
    /// # Errors
    /// [`CallbackError`].
    pub async fn callback(&self, query: &str, apps: &[OAuthApp]) -> Result<Granted, CallbackError> {
        let _ = (query, apps);
        Err(CallbackError::UnknownSession)
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
        let _ = auth_session_id;
        Err(unbuilt(app))
    }

    /// Returns all grants, by app and subject.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    pub async fn grants(&self) -> Result<Vec<GrantInfo>, OAuthError> {
        Ok(Vec::new())
    }

    /// Removes the grant of an app, after asking the server to revoke its tokens. Returns whether there was
    /// one. The grant is removed whatever the server answers.
    ///
    /// # Errors
    /// [`OAuthError`].
    pub async fn revoke(&self, app: &OAuthApp, subject: Option<&str>) -> Result<bool, OAuthError> {
        let _ = subject;
        Err(unbuilt(app))
    }

    /// Removes grants from the store alone: those of apps that no bundle defines any more, or that do not open.
    /// Returns how many there were.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    pub async fn forget(
        &self,
        app: &ResourceName,
        subject: Option<&str>,
    ) -> Result<usize, OAuthError> {
        let _ = (app, subject);
        Ok(0)
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
        let _ = (subject, token);
        Err(unbuilt(app))
    }

    /// Returns the grants that are stored from now on by this process, each once: the event `auth.granted`.
    /// A receiver that falls 64 behind misses the oldest.
    #[must_use]
    pub fn granted(&self) -> broadcast::Receiver<Granted> {
        self.inner.granted.subscribe()
    }
}

fn unbuilt(app: &OAuthApp) -> OAuthError {
    OAuthError::Unavailable {
        app: app.name.clone(),
        reason: "not implemented".to_owned(),
        retry_at: None,
    }
}
