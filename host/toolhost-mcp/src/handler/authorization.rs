//! Asks the user of a client to grant access to an OAuthApp.

use toolhost::ToolResult;
use toolhost::oauth::AuthorizationRequired;

use super::elicitation::Link;

/// Returns the link that the user has to open, if the call needs an authorization. The result's text names it, too.
///
/// Spec: requirements-v1 §12.6.6.
pub(super) fn link(result: &ToolResult) -> Option<Link> {
    let needed = result.tool_error()?.details.as_deref()?;
    Some(Link {
        id: needed.auth_session_id.clone(),
        url: needed.authorization_url.clone(),
        message: message(needed),
        reason: "the user must grant access first",
        state: None,
    })
}

/// Returns the sentence for the user, with the code that the page asks for.
fn message(needed: &AuthorizationRequired) -> String {
    match &needed.user_code {
        Some(code) => format!("{} The code is {code}.", needed.message),
        None => needed.message.clone(),
    }
}
