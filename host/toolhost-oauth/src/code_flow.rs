//! Authorization codes with PKCE (S256). Spec: requirements-v1 §12.6.4.

use oauth2::url::form_urlencoded;
use toolhost_contract::{AuthorizationRequired, ResourceName, Timestamp};
use toolhost_store::{is_random_text, random_text};

use crate::app::OAuthApp;
use crate::clock::{millis_of, time_of};
use crate::device::{ID_LETTERS, granted};
use crate::error::{CallbackError, OAuthError};
use crate::protocol::{code_of, new_verifier};
use crate::refusal::refusal;
use crate::resolved_app::ResolvedApp;
use crate::secret::Secret;
use crate::shared::OAuthContext;
use crate::store::GrantKey;
use crate::store::sessions::{NoSession, Session, SessionFlow};
use crate::token::Granted;

/// Letters of a state after the session's id: 130 random bits.
const STATE_LETTERS: usize = 26;

/// Longest query of a callback, in bytes.
const QUERY_MAX: usize = 16 << 10;

/// Stores a session. Spec: requirements-v1 §12.6.4 (1).
pub(crate) async fn begin(
    shared: &OAuthContext,
    app: &ResolvedApp,
    key: &GrantKey,
    scopes: Vec<String>,
    redirect: &str,
) -> Result<AuthorizationRequired, OAuthError> {
    let now_ms = shared.now_ms();
    let id = random_text::<ID_LETTERS>().map_err(|_| OAuthError::Random)?;
    let random = random_text::<STATE_LETTERS>().map_err(|_| OAuthError::Random)?;
    let session = Session {
        // The id in the state finds the row, whose state is encrypted.
        flow: SessionFlow::Code {
            redirect: redirect.to_owned(),
            state: Secret::new(format!("{id}.{random}")),
            verifier: new_verifier(),
        },
        id,
        key: key.clone(),
        scopes,
        expires_ms: now_ms.saturating_add(millis_of(shared.session_time)),
    };
    let required = required(shared, app, &session)?;
    shared.tables.put_session(session, now_ms).await?;
    Ok(required)
}

/// Returns what a person needs for a session.
pub(crate) fn required(
    shared: &OAuthContext,
    app: &ResolvedApp,
    session: &Session,
) -> Result<AuthorizationRequired, OAuthError> {
    let url = match (&app.endpoints.authorization, &session.flow) {
        (
            Some(authorization),
            SessionFlow::Code {
                redirect,
                state,
                verifier,
            },
        ) => app.protocol(&shared.egress).authorization_url(
            authorization,
            redirect,
            &session.scopes,
            state,
            verifier,
        ),
        _ => None,
    };
    let url = url.ok_or_else(|| OAuthError::Unavailable {
        app: app.name(),
        reason: "its authorization URL cannot be made".to_owned(),
        retry_at: None,
    })?;
    Ok(AuthorizationRequired {
        app: app.name(),
        auth_session_id: session.id.clone(),
        authorization_url: url,
        user_code: None,
        expires_at: Timestamp(time_of(session.expires_ms)),
        message: format!(
            "{} needs your authorization: open the link in a browser",
            app.app.name
        ),
    })
}

/// What the server sent with the browser.
#[derive(Debug)]
pub(crate) struct Callback {
    session: String,
    state: Secret,
    answer: Result<Secret, String>,
    issuer: Option<String>,
}

impl Callback {
    /// Reads the query of a callback.
    pub(crate) fn parse(query: &str) -> Result<Self, CallbackError> {
        let malformed = CallbackError::Malformed;
        let query = query.strip_prefix('?').unwrap_or(query);
        if query.len() > QUERY_MAX {
            return Err(malformed("it is too long"));
        }
        let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        let one = |name: &str| {
            let mut values = pairs.iter().filter(|(key, _)| key == name);
            let value = values.next().map(|(_, value)| value.to_string());
            match values.next() {
                Some(_) => Err(malformed("a parameter occurs twice")),
                None => Ok(value),
            }
        };
        let state = one("state")?.map(Secret::new);
        let state = state.ok_or(malformed("it has no `state`"))?;
        let session = state.expose().split('.').next().unwrap_or_default();
        if !is_random_text::<ID_LETTERS>(session) {
            return Err(CallbackError::UnknownSession);
        }
        let answer = match (one("code")?, one("error")?) {
            (Some(code), None) => Ok(Secret::new(code)),
            (None, Some(error)) => Err(code_of(&error)),
            _ => return Err(malformed("it has neither `code` nor `error`, or both")),
        };
        Ok(Self {
            session: session.to_owned(),
            issuer: one("iss")?,
            answer,
            state,
        })
    }
}

/// Completes a session, whether or not the caller waits for it.
pub(crate) async fn complete(
    shared: &OAuthContext,
    callback: Callback,
    apps: &[OAuthApp],
) -> Result<Granted, CallbackError> {
    let now_ms = shared.now_ms();
    let tables = &shared.tables;
    let lookup = tables.take_session(&callback.session, callback.state, now_ms);
    let session = lookup.await?.map_err(|error| match error {
        NoSession::Unknown => CallbackError::UnknownSession,
        NoSession::StateMismatch => CallbackError::StateMismatch,
        NoSession::Expired => CallbackError::Expired,
    })?;
    let of_name = apps
        .iter()
        .filter(|app| app.name.to_string() == session.key.app);
    let mut valid = of_name.filter_map(|app| ResolvedApp::new(app).ok());
    let Some(app) = valid.find(|app| app.client == session.key.client) else {
        let name = ResourceName::parse(&session.key.app);
        return Err(match name {
            Ok(app) => CallbackError::AppChanged { app },
            Err(_) => CallbackError::UnknownSession,
        });
    };
    if let Some(expected) = &app.app.issuer
        && callback.issuer.as_ref() != Some(expected)
    {
        return Err(CallbackError::Issuer);
    }
    let code = callback
        .answer
        .map_err(|code| CallbackError::Denied { code })?;
    let SessionFlow::Code {
        redirect, verifier, ..
    } = &session.flow
    else {
        return Err(CallbackError::UnknownSession);
    };
    let protocol = app.protocol(&shared.egress);
    let tokens = protocol.exchange_code(&code, verifier, redirect).await;
    let tokens = tokens.map_err(|failure| refusal(&app, failure))?;
    let now_ms = shared.now_ms();
    let granted = granted(&app, &session, &tokens, now_ms);
    tables.grant_session(&session, tokens, now_ms).await?;
    // Nobody may listen.
    let _ = shared.granted.send(granted.clone());
    Ok(granted)
}
