//! Turns a failed request into an error.

use crate::error::OAuthError;
use crate::protocol::Failure;
use crate::resolved_app::ResolvedApp;

pub(crate) fn refusal(app: &ResolvedApp, failure: Failure) -> OAuthError {
    let app = app.name();
    match failure {
        Failure::Rejected => OAuthError::Refused {
            app,
            code: "invalid_grant".to_owned(),
        },
        Failure::Refused { code } => OAuthError::Refused { app, code },
        Failure::Unavailable { reason, .. } => OAuthError::Unavailable {
            app,
            reason,
            retry_at: None,
        },
    }
}
