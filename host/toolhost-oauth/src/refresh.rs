//! Refreshes a grant: once, whatever number of tasks and processes want it.

use std::time::Duration;

use crate::answer::Tokens;
use crate::clock::time_of;
use crate::error::OAuthError;
use crate::protocol::Failure;
use crate::resolved_app::ResolvedApp;
use crate::shared::OAuthContext;
use crate::store::grants::{Claim, Grant, GrantLease};
use crate::store::{GrantKey, Unreadable};

/// How much longer than a request a lease holds.
const LEASE_MARGIN: Duration = Duration::from_secs(30);

/// Between two looks at a grant that another process refreshes.
const INTERVAL: Duration = Duration::from_millis(50);

/// Attempts to store tokens that a server has sent: they cannot be requested again.
const STORE_ATTEMPTS: u32 = 5;

/// Result of a refresh.
#[derive(Debug)]
pub(crate) struct Renewed {
    /// The grant as it is now.
    pub(crate) grant: Option<Grant>,
    /// Why it was not refreshed.
    pub(crate) error: Option<OAuthError>,
}

impl Renewed {
    fn ready(grant: Option<Grant>) -> Self {
        Self { grant, error: None }
    }
}

/// When a grant is refreshed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenewTimes {
    /// A token is refreshed that is valid for less than this.
    pub(crate) wanted: Duration,
    /// A token that is valid for longer than this can be used while another process refreshes it.
    pub(crate) needed: Duration,
}

/// Refreshes a grant, unless its token is valid for long enough. The caller holds the lock of its key.
pub(crate) async fn renew(
    shared: &OAuthContext,
    app: &ResolvedApp,
    key: &GrantKey,
    times: RenewTimes,
) -> Result<Renewed, OAuthError> {
    let lease_time = shared.egress.request_time + LEASE_MARGIN;
    let mut waited = Duration::ZERO;
    loop {
        let now_ms = shared.now_ms();
        let is_due = move |grant: &Grant| grant.expires_within(now_ms, times.wanted);
        let claim = shared.tables.claim(key, is_due, now_ms, lease_time).await?;
        match readable(app, claim)? {
            Claim::Gone => return Ok(Renewed::ready(None)),
            Claim::Kept(grant) => {
                let is_early = is_due(&grant) && grant.refresh.is_some();
                let error = is_early.then(|| OAuthError::Unavailable {
                    app: app.name(),
                    reason: "the last refresh failed".to_owned(),
                    retry_at: Some(time_of(grant.retry_ms)),
                });
                return Ok(Renewed {
                    grant: Some(grant),
                    error,
                });
            }
            Claim::Taken(grant)
                if grant.is_alive(now_ms) && !grant.expires_within(now_ms, times.needed) =>
            {
                return Ok(Renewed::ready(Some(grant)));
            }
            Claim::Taken(_) if waited > lease_time => {
                return Err(OAuthError::Busy { app: app.name() });
            }
            Claim::Taken(_) => {
                shared.sleep(INTERVAL).await;
                waited += INTERVAL;
            }
            Claim::Leased(grant, lease) => return send(shared, app, key, grant, lease).await,
        }
    }
}

async fn send(
    shared: &OAuthContext,
    app: &ResolvedApp,
    key: &GrantKey,
    grant: Grant,
    lease: GrantLease,
) -> Result<Renewed, OAuthError> {
    let tables = &shared.tables;
    let Some(token) = grant.refresh.clone() else {
        return Ok(Renewed::ready(Some(grant)));
    };
    let (reason, retry_after) = match app.protocol(&shared.egress).refresh(&token).await {
        Ok(tokens) => return store(shared, app, key, &grant, tokens).await,
        Err(Failure::Rejected) => {
            tracing::warn!(app = %app.app.name, "the server rejected the refresh token of a grant");
            let grant = tables.rejected(key, &token, lease).await?;
            return Ok(Renewed::ready(readable(app, grant)?));
        }
        Err(Failure::Unavailable {
            reason,
            retry_after,
        }) => (reason, retry_after),
        Err(Failure::Refused { code }) => {
            tables.failed(key, lease, None, shared.now_ms()).await?;
            let app = app.name();
            let error = OAuthError::Refused { app, code };
            tracing::warn!(%error, "a grant was not refreshed");
            return Ok(Renewed {
                grant: Some(grant),
                error: Some(error),
            });
        }
    };
    let now_ms = shared.now_ms();
    let retry_ms = tables.failed(key, lease, retry_after, now_ms).await?;
    let error = OAuthError::Unavailable {
        app: app.name(),
        reason,
        retry_at: Some(time_of(retry_ms)),
    };
    tracing::warn!(%error, "a grant was not refreshed");
    Ok(Renewed {
        grant: Some(grant),
        error: Some(error),
    })
}

/// Stores tokens before they are used.
async fn store(
    shared: &OAuthContext,
    app: &ResolvedApp,
    key: &GrantKey,
    claimed: &Grant,
    tokens: Tokens,
) -> Result<Renewed, OAuthError> {
    let mut attempt = 1;
    loop {
        let now_ms = shared.now_ms();
        let tokens = tokens.clone();
        match shared.tables.refreshed(key, claimed, tokens, now_ms).await {
            Ok(grant) => return Ok(Renewed::ready(readable(app, grant)?)),
            Err(error) if attempt == STORE_ATTEMPTS => return Err(error),
            Err(_) => {
                shared.sleep(INTERVAL * attempt).await;
                attempt += 1;
            }
        }
    }
}

pub(crate) fn readable<T>(
    app: &ResolvedApp,
    value: Result<T, Unreadable>,
) -> Result<T, OAuthError> {
    value.map_err(|Unreadable| OAuthError::Unreadable { app: app.name() })
}
