//! The method `oauth/callback`.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::RpcError;
use crate::session::Session;

/// `{"query", "bundle"?}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallbackParams {
    query: String,
    bundle: Option<String>,
}

/// Completes an authorization: `{"app", "subject", "authSessionId", "scopes", "expiresAt"}`.
pub(super) async fn callback(session: &Session, params: CallbackParams) -> Result<Value, RpcError> {
    let bundle = session
        .bundles
        .get(params.bundle.as_deref(), &session.config)?;
    let granted = bundle.oauth_callback(&params.query).await;
    let granted = granted.map_err(|error| {
        RpcError::params(error.to_string())
            .suggesting("Have the user begin the authorization again.")
    })?;
    Ok(json!({
        "app": granted.app.as_str(),
        "subject": granted.subject,
        "authSessionId": granted.auth_session_id,
        "scopes": granted.scopes,
        "expiresAt": granted.expires_at,
    }))
}
