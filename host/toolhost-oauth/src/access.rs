//! Requests for a token. Spec: requirements-v1 §12.6.1.

use std::sync::Arc;
use std::time::Duration;

use toolhost_contract::{AuthorizationRequired, OAuthFlow};

use crate::clock::{millis_of, time_of};
use crate::error::OAuthError;
use crate::refresh::{RenewTimes, Renewed, readable, renew};
use crate::resolved_app::ResolvedApp;
use crate::shared::OAuthContext;
use crate::store::GrantKey;
use crate::store::grants::Grant;
use crate::store::sessions::SessionFlow;
use crate::token::{AccessToken, DevicePoll, TokenResult};
use crate::{code_flow, device};

/// A token is refreshed when it is valid for less than this.
const RENEW_TIME: Duration = Duration::from_secs(60);

/// A token that is valid for less than this may expire on its way.
const SEND_TIME: Duration = Duration::from_secs(5);

/// A session is used again while a person has at least this part of its time left.
const REUSE_PART: u32 = 5;

/// A request for a token.
#[derive(Debug, Clone)]
pub(crate) struct TokenRequest {
    pub(crate) app: ResolvedApp,
    pub(crate) key: GrantKey,
    pub(crate) scopes: Vec<String>,
    pub(crate) min_ttl: Duration,
}

impl TokenRequest {
    fn covers(&self, grant: &Grant) -> bool {
        // What was asked for counts: servers name what they grant differently, or leave some of it out.
        let has = |scope: &String| grant.asked.contains(scope) || grant.scopes.contains(scope);
        self.scopes.iter().all(has)
    }

    fn times(&self) -> RenewTimes {
        RenewTimes {
            wanted: self.min_ttl.max(RENEW_TIME),
            needed: self.min_ttl.max(SEND_TIME),
        }
    }
}

/// Returns a token without sending anything, if there is one that need not be refreshed.
pub(crate) async fn stored_token(
    shared: &OAuthContext,
    request: &TokenRequest,
) -> Result<Option<AccessToken>, OAuthError> {
    valid_for(shared, request, request.times().wanted).await
}

/// Returns the stored token, if it is valid for longer than this.
async fn valid_for(
    shared: &OAuthContext,
    request: &TokenRequest,
    time: Duration,
) -> Result<Option<AccessToken>, OAuthError> {
    let grant = shared.tables.grant(&request.key).await?;
    let grant = readable(&request.app, grant)?;
    let now_ms = shared.now_ms();
    let is_valid = |grant: &Grant| {
        request.covers(grant) && grant.is_alive(now_ms) && !grant.expires_within(now_ms, time)
    };
    Ok(grant.filter(is_valid).map(token))
}

/// Refreshes the grant, or begins an authorization.
pub(crate) async fn obtain(
    shared: Arc<OAuthContext>,
    request: TokenRequest,
) -> Result<TokenResult, OAuthError> {
    let (app, key) = (&request.app, &request.key);
    let lock = shared.lock_of(key);
    let _one_at_a_time = match Arc::clone(&lock).try_lock_owned() {
        Ok(locked) => locked,
        Err(_) => match valid_for(&shared, &request, request.times().needed).await? {
            // Another task refreshes it meanwhile.
            Some(token) => return Ok(TokenResult::Ready(token)),
            None => lock.lock_owned().await,
        },
    };
    let entry = readable(app, shared.tables.grant(key).await?)?;
    let renewed = match entry {
        Some(grant) if request.covers(&grant) => renew(&shared, app, key, request.times()).await?,
        grant => Renewed { grant, error: None },
    };
    let now_ms = shared.now_ms();
    if let Some(grant) = &renewed.grant
        && request.covers(grant)
        && grant.is_alive(now_ms)
    {
        // Where nothing can refresh the token, a person can.
        let ends_early = grant.refresh.is_none() && grant.expires_within(now_ms, request.min_ttl);
        if !ends_early {
            return Ok(TokenResult::Ready(token(grant.clone())));
        }
    }
    if let Some(error) = renewed.error {
        return Err(error);
    }
    let scopes = wanted_scopes(&request, renewed.grant.as_ref());
    authorized(&shared, &request, scopes).await
}

/// Begins an authorization, whether or not there is a grant.
pub(crate) async fn begin_for_person(
    shared: Arc<OAuthContext>,
    request: TokenRequest,
) -> Result<AuthorizationRequired, OAuthError> {
    let _one_at_a_time = shared.lock(&request.key).await;
    begin(&shared, &request, request.scopes.clone()).await
}

/// Returns the open session, or begins one. Asks for the token of a device if it is time to.
async fn authorized(
    shared: &OAuthContext,
    request: &TokenRequest,
    scopes: Vec<String>,
) -> Result<TokenResult, OAuthError> {
    let (app, key) = (&request.app, &request.key);
    let redirect = match app.app.flow {
        OAuthFlow::AuthorizationCode => app.app.redirect.as_deref(),
        OAuthFlow::DeviceCode => None,
    };
    let reuse_ms = millis_of(shared.session_time / REUSE_PART);
    // The codes of devices may live shorter than that; they are used until they expire.
    let reuse_ms = redirect.map_or(0, |_| reuse_ms);
    let until = shared.now_ms().saturating_add(reuse_ms);
    let open = shared.tables.open_session(key, &scopes, redirect, until);
    let required = match open.await? {
        None => begin(shared, request, scopes).await?,
        Some(session) => match session.flow {
            SessionFlow::Code { .. } => code_flow::required(shared, app, &session)?,
            SessionFlow::Device { .. } => match device::poll(shared, app, &session.id).await? {
                DevicePoll::Pending { .. } => device::required(app, &session)?,
                DevicePoll::Granted(_) => {
                    let grant = readable(app, shared.tables.grant(key).await?)?;
                    match grant {
                        Some(grant) => return Ok(TokenResult::Ready(token(grant))),
                        None => begin(shared, request, scopes).await?,
                    }
                }
                DevicePoll::Denied | DevicePoll::Expired => begin(shared, request, scopes).await?,
            },
        },
    };
    Ok(TokenResult::AuthorizationRequired(required))
}

async fn begin(
    shared: &OAuthContext,
    request: &TokenRequest,
    scopes: Vec<String>,
) -> Result<AuthorizationRequired, OAuthError> {
    let (app, key) = (&request.app, &request.key);
    match (app.app.flow, &app.app.redirect) {
        (OAuthFlow::AuthorizationCode, Some(redirect)) => {
            code_flow::begin(shared, app, key, scopes, redirect).await
        }
        (OAuthFlow::AuthorizationCode, None) | (OAuthFlow::DeviceCode, _) => {
            device::begin(shared, app, key, scopes).await
        }
    }
}

/// The scopes to ask for: those of the request, and those that the new grant would replace.
fn wanted_scopes(request: &TokenRequest, grant: Option<&Grant>) -> Vec<String> {
    let earlier = grant
        .map(|grant| grant.asked.as_slice())
        .unwrap_or_default();
    let scopes = request.app.app.scopes.iter();
    scopes
        .filter(|scope| request.scopes.contains(scope) || earlier.contains(scope))
        .cloned()
        .collect()
}

fn token(grant: Grant) -> AccessToken {
    AccessToken {
        secret: grant.access,
        scopes: grant.scopes,
        expires_at: grant.expires_ms.map(time_of),
    }
}
