//! Device codes (RFC 8628). Spec: requirements-v1 §12.6.5.

use std::time::Duration;

use oauth2::StandardDeviceAuthorizationResponse;
use toolhost_contract::{AuthorizationRequired, Timestamp};
use toolhost_store::random_text;

use crate::clock::{millis_of, time_of};
use crate::endpoint::{Endpoint, Use};
use crate::error::OAuthError;
use crate::protocol::{DeviceAnswer, Failure};
use crate::refusal::refusal;
use crate::resolved_app::{ResolvedApp, subject_of};
use crate::secret::Secret;
use crate::shared::OAuthContext;
use crate::store::GrantKey;
use crate::store::sessions::{Session, SessionFlow};
use crate::token::{DevicePoll, Granted};

/// Letters of a session's id: 130 random bits.
pub(crate) const ID_LETTERS: usize = 26;

/// Longest code that a person is asked to enter.
const USER_CODE_MAX: usize = 64;

/// Longest pause between two requests.
const INTERVAL_MAX: Duration = Duration::from_secs(300);

/// Requests a device code, and stores the session.
pub(crate) async fn begin(
    shared: &OAuthContext,
    app: &ResolvedApp,
    key: &GrantKey,
    scopes: Vec<String>,
) -> Result<AuthorizationRequired, OAuthError> {
    let endpoint = app.endpoints.device_authorization.as_ref();
    let endpoint = endpoint.ok_or_else(|| bent(app))?;
    let protocol = app.protocol(&shared.egress);
    shared.check_begins(key)?;
    let answer = protocol.begin_device(endpoint, &scopes).await;
    let answer = answer.map_err(|failure| {
        let error = refusal(app, failure);
        shared.not_begun(key, &error);
        error
    })?;
    let now_ms = shared.now_ms();
    let time = shared.session_time.min(answer.expires_in());
    let interval_ms = millis_of(answer.interval().min(INTERVAL_MAX));
    let json = serde_json::to_string(&answer).map_err(|_| bent(app))?;
    let session = Session {
        id: random_text::<ID_LETTERS>().map_err(|_| OAuthError::Random)?,
        key: key.clone(),
        scopes,
        expires_ms: now_ms.saturating_add(millis_of(time)),
        flow: SessionFlow::Device {
            answer: Secret::new(json),
            interval_ms,
            poll_after_ms: now_ms.saturating_add(interval_ms),
        },
    };
    let required = required(app, &session)?;
    shared.tables.put_session(session, now_ms).await?;
    Ok(required)
}

/// Returns what a person needs for a session.
pub(crate) fn required(
    app: &ResolvedApp,
    session: &Session,
) -> Result<AuthorizationRequired, OAuthError> {
    let answer = answer_of(session).ok_or_else(|| bent(app))?;
    let code = answer.user_code().secret();
    let is_code = (1..=USER_CODE_MAX).contains(&code.len())
        && code.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    let url = answer.verification_uri().url().as_str();
    let complete = answer.verification_uri_complete();
    // The link is opened by a person: it must not be of another scheme.
    let of_browser = |url: &str| Endpoint::parse(url, Use::Browser).is_ok();
    if !is_code || !of_browser(url) {
        return Err(bent(app));
    }
    let complete = complete.map(|url| url.secret().as_str());
    let url = complete.filter(|url| of_browser(url)).unwrap_or(url);
    Ok(AuthorizationRequired {
        app: app.name(),
        auth_session_id: session.id.clone(),
        authorization_url: url.to_owned(),
        user_code: Some(code.clone()),
        expires_at: Timestamp(time_of(session.expires_ms)),
        message: format!(
            "{} needs your authorization: open the link, and enter the code {code} if the page asks for it",
            app.app.name
        ),
    })
}

/// Asks the server whether the person has decided, unless it is too early.
pub(crate) async fn poll(
    shared: &OAuthContext,
    app: &ResolvedApp,
    id: &str,
) -> Result<DevicePoll, OAuthError> {
    let now_ms = shared.now_ms();
    let poll = shared.tables.take_poll(id, now_ms).await?;
    let is_own = |session: &Session| {
        session.key.app == app.app.name.to_string() && session.key.client == app.client
    };
    let Some((session, may_poll)) = poll.filter(|(session, _)| is_own(session)) else {
        return Ok(DevicePoll::Expired);
    };
    let SessionFlow::Device {
        interval_ms,
        poll_after_ms,
        ..
    } = session.flow
    else {
        return Ok(DevicePoll::Expired);
    };
    if !may_poll {
        let after = poll_after_ms.saturating_sub(now_ms);
        return Ok(pending(after));
    }
    let answer = answer_of(&session).ok_or_else(|| bent(app))?;
    let tables = &shared.tables;
    let interval = match app.protocol(&shared.egress).poll_device(&answer).await {
        Ok(DeviceAnswer::Granted(tokens)) => {
            let granted = granted(app, &session, &tokens, shared.now_ms());
            tables
                .grant_session(&session, tokens, shared.now_ms())
                .await?;
            // Nobody may listen.
            let _ = shared.granted.send(granted.clone());
            return Ok(DevicePoll::Granted(granted));
        }
        Ok(DeviceAnswer::Denied) => {
            tables.remove_session(id).await?;
            return Ok(DevicePoll::Denied);
        }
        Ok(DeviceAnswer::Expired) => {
            tables.remove_session(id).await?;
            return Ok(DevicePoll::Expired);
        }
        // `slow_down` makes the library's interval five seconds longer than the server's first.
        Ok(DeviceAnswer::Pending(interval)) if interval > answer.interval() => {
            interval_ms.saturating_add(millis_of(interval.saturating_sub(answer.interval())))
        }
        Ok(DeviceAnswer::Pending(_)) => interval_ms,
        // RFC 8628 §3.5: the interval grows while the server does not answer.
        Err(Failure::Unavailable { retry_after, .. }) => {
            let doubled = interval_ms.saturating_mul(2).max(1000);
            doubled.max(retry_after.map_or(0, millis_of))
        }
        Err(failure @ (Failure::Rejected | Failure::Refused { .. })) => {
            return Err(refusal(app, failure));
        }
    };
    let interval = interval.min(millis_of(INTERVAL_MAX));
    let next = shared.now_ms().saturating_add(interval);
    tables.postpone_poll(id, interval, next).await?;
    Ok(pending(interval))
}

/// Returns the event of a grant that is stored.
pub(crate) fn granted(
    app: &ResolvedApp,
    session: &Session,
    tokens: &crate::answer::Tokens,
    now_ms: i64,
) -> Granted {
    let lifetime = tokens.expires_in.map(millis_of);
    Granted {
        app: app.name(),
        subject: subject_of(&session.key),
        auth_session_id: session.id.clone(),
        scopes: tokens.scopes.clone().unwrap_or(session.scopes.clone()),
        expires_at: lifetime.map(|lifetime| Timestamp(time_of(now_ms.saturating_add(lifetime)))),
    }
}

fn answer_of(session: &Session) -> Option<StandardDeviceAuthorizationResponse> {
    match &session.flow {
        SessionFlow::Device { answer, .. } => serde_json::from_str(answer.expose()).ok(),
        SessionFlow::Code { .. } => None,
    }
}

fn pending(after_ms: i64) -> DevicePoll {
    let after = Duration::from_millis(u64::try_from(after_ms).unwrap_or_default());
    DevicePoll::Pending { after }
}

fn bent(app: &ResolvedApp) -> OAuthError {
    OAuthError::Unavailable {
        app: app.name(),
        reason: "its device authorization cannot be used".to_owned(),
        retry_at: None,
    }
}
