//! Gets the tokens of a call, which the host sets on its HTTP requests.
//!
//! Spec: requirements-v1 §12.6.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolhost_contract::http::Origin;
use toolhost_contract::{
    AuthorizationRequired, Grants, HeldSecret, HttpCredential, ResourceName, ToolError,
    ToolErrorCode, text,
};

use super::scope::TurnScope;
use crate::oauth::{AccessToken, OAuthApp, OAuthError, OAuthUse, TokenResult};

/// Shortest time for which a token must still be valid when a call begins. It is refreshed earlier, if it can be.
const MIN_TTL: Duration = Duration::from_secs(5);

/// Longest sentence for the user, in characters.
const MESSAGE_MAX: usize = 500;

/// A token that the host sets on requests of a call, and the app that it is for.
pub(super) struct SentToken {
    app: Arc<OAuthApp>,
    token: AccessToken,
    redacted: HeldSecret,
}

/// Gets a token for each app that a tool may use, and adds it to the grants of the call. The host redacts
/// a token from now on, until it has expired and its last call has ended.
///
/// # Errors
/// `E_TOOL_AUTH_…`: the component must not run.
pub(super) async fn add_to(
    grants: &mut Grants,
    uses: &[OAuthUse],
    tool: &ResourceName,
    turn: &TurnScope,
) -> Result<Vec<SentToken>, ToolError> {
    let mut sent = Vec::with_capacity(uses.len());
    for one in uses {
        let token = get(one, tool, turn).await?;
        let secret = token.secret().expose();
        let redactor = &turn.agent().host.redactor;
        let expires_at = token.expires_at();
        let left = expires_at.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
        let redacted = redactor.hold(one.app.name.as_str(), secret, left);
        let credentials = one.app.origins.iter().map(|origin| {
            HttpCredential::new(origin, "authorization", "Bearer ", secret).map_err(|error| {
                let reason = format!("the token cannot be sent to {origin}: {error}");
                failed(tool, &one.app, &reason, turn)
            })
        });
        let credentials = credentials.collect::<Result<Vec<_>, _>>()?;
        if let Some(http) = &mut grants.http {
            Arc::make_mut(http).credentials.extend(credentials);
        }
        let app = Arc::clone(&one.app);
        sent.push(SentToken {
            app,
            token,
            redacted,
        });
    }
    Ok(sent)
}

/// How long a call waits until its refused token is marked.
const WRITING_MAX: Duration = Duration::from_secs(1);

/// Marks the tokens as expired that were sent to an origin which answered 401. The next call refreshes them, or
/// asks the user to grant access again. The call waits for the database only for [`WRITING_MAX`], as its
/// deadline has no effect any more.
pub(super) async fn reject(sent: Vec<SentToken>, unauthorized: &[Origin], turn: &TurnScope) {
    let host = &turn.agent().host;
    let Some(oauth) = &host.oauth else {
        return;
    };
    for SentToken {
        app,
        token,
        redacted,
    } in sent
    {
        let origins = app.origins.iter().filter_map(|it| Origin::parse(it).ok());
        if !origins
            .into_iter()
            .any(|origin| unauthorized.contains(&origin))
        {
            continue;
        }
        redacted.revoke();
        let (oauth, subject) = (oauth.clone(), turn.options.subject.clone());
        let mut rejecting = Box::pin(async move {
            let rejected = oauth.reject(&app, subject.as_deref(), &token).await;
            if let Err(error) = rejected {
                tracing::warn!(app = %app.name, %error, "a token that a server refused is still used");
            }
        });
        // It is in the queue of the database before whatever the next call asks, of this process or, once it is written,
        // of another one.
        let threads = host.sandbox.threads();
        if threads
            .within(WRITING_MAX, rejecting.as_mut())
            .await
            .is_none()
        {
            threads.spawn_own(rejecting);
        }
    }
}

async fn get(
    one: &OAuthUse,
    tool: &ResourceName,
    turn: &TurnScope,
) -> Result<AccessToken, ToolError> {
    let app = &one.app;
    let Some(oauth) = &turn.agent().host.oauth else {
        let reason = "this host keeps no grants: the runtime sets HostBuilder::oauth";
        return Err(failed(tool, app, reason, turn));
    };
    let subject = turn.options.subject.as_deref();
    // Boxed, so that the futures of calls without OAuth stay small.
    let token = Box::pin(oauth.access_token(app, subject, one.scopes.as_deref(), MIN_TTL));
    match token.await {
        TokenResult::Ready(token) => Ok(token),
        TokenResult::AuthorizationRequired(required) => {
            let details = AuthorizationRequired {
                user_code: required
                    .user_code
                    .map(|code| text::shorten(&code, MESSAGE_MAX)),
                message: text::shorten(&required.message, MESSAGE_MAX),
                ..required
            };
            let message = format!(
                "Tool '{tool}' did not run: the user has not granted access to OAuthApp/{} yet.",
                app.name
            );
            Err(ToolError::authorization_required(
                message,
                details,
                turn.locale(),
            ))
        }
        TokenResult::Error(error) => Err(refused(tool, &error, turn)),
    }
}

/// Returns the error of a call whose token could not be obtained.
fn refused(tool: &ResourceName, error: &OAuthError, turn: &TurnScope) -> ToolError {
    let code = match error {
        OAuthError::NoSubject { .. } => ToolErrorCode::AuthSubject,
        OAuthError::Scope { .. } => ToolErrorCode::AuthScope,
        OAuthError::InvalidApp { .. }
        | OAuthError::Unavailable { .. }
        | OAuthError::Refused { .. }
        | OAuthError::Unreadable { .. }
        | OAuthError::Busy { .. }
        | OAuthError::ServerBusy { .. }
        | OAuthError::Store(_)
        | OAuthError::Key(_)
        | OAuthError::CutOff
        | OAuthError::Random => ToolErrorCode::AuthFailed,
    };
    let message = format!("Tool '{tool}' did not run: {error}.");
    tracing::warn!(%tool, code = code.as_str(), "no access token: {error}");
    ToolError::host(code, message, turn.locale())
}

fn failed(tool: &ResourceName, app: &OAuthApp, reason: &str, turn: &TurnScope) -> ToolError {
    let message = format!(
        "Tool '{tool}' did not run: OAuthApp {}: {reason}.",
        app.name
    );
    ToolError::host(ToolErrorCode::AuthFailed, message, turn.locale())
}
