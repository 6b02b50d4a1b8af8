//! Asks the user of a client to grant access to an OAuthApp: elicitation in URL mode.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, ElicitRequest, ElicitRequestParams, ErrorCode, ErrorData, InputRequest,
    InputRequiredResult,
};
use rmcp::service::RequestContext;
use serde_json::json;
use toolhost::ToolResult;
use toolhost::oauth::AuthorizationRequired;

use super::answer::revision;
use crate::result::Revision;

/// The error of 2025-11-25 for a request that needs an elicitation in URL mode first.
const URL_ELICITATION_REQUIRED: i32 = -32042;

/// Returns what has the client ask its user, if the call needs an authorization and the client can open URLs.
/// Otherwise the result's text names the link. A call that the client made again is not asked for twice: the
/// user may have declined, or be in the browser still.
///
/// - 2026-07-28: a result of type `input_required`, after which the client makes the call again
/// - 2025-11-25: the error -32042
///
/// # Errors
/// The error -32042.
///
/// Spec: requirements-v1 §12.6.6.
pub(super) fn response(
    context: &RequestContext<RoleServer>,
    result: &ToolResult,
    is_retry: bool,
) -> Result<Option<CallToolResponse>, ErrorData> {
    let needed = result
        .tool_error()
        .and_then(|error| error.details.as_deref());
    let Some(needed) = needed.filter(|_| !is_retry && opens_urls(context)) else {
        return Ok(None);
    };
    let message = message(needed);
    let (id, url) = (&needed.auth_session_id, &needed.authorization_url);
    match revision(context) {
        Revision::Stateless => {
            let params = ElicitRequestParams::UrlElicitationParams {
                meta: None,
                message,
                url: url.clone(),
                elicitation_id: id.clone(),
            };
            let request = InputRequest::Elicitation(ElicitRequest::new(params));
            let requests = [(id.clone(), request)].into();
            let required = InputRequiredResult::from_input_requests(requests);
            Ok(Some(CallToolResponse::InputRequired(required)))
        }
        Revision::WithInitialize => {
            let elicitation =
                json!({"mode": "url", "elicitationId": id, "url": url, "message": message});
            let data = json!({ "elicitations": [elicitation] });
            let code = ErrorCode(URL_ELICITATION_REQUIRED);
            Err(ErrorData::new(
                code,
                "the user must grant access first",
                Some(data),
            ))
        }
    }
}

/// Returns whether the client declared elicitation in URL mode.
fn opens_urls(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
    elicitation.is_some_and(|elicitation| elicitation.url.is_some())
}

/// Returns the sentence for the user, with the code that the page asks for.
fn message(needed: &AuthorizationRequired) -> String {
    match &needed.user_code {
        Some(code) => format!("{} The code is {code}.", needed.message),
        None => needed.message.clone(),
    }
}
