//! Asks the user of a client to open a link: elicitation in URL mode.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, ElicitRequest, ElicitRequestParams, ErrorCode, ErrorData, InputRequest,
    InputRequiredResult,
};
use rmcp::service::RequestContext;
use serde_json::json;

use super::answer::revision;
use crate::result::Revision;

/// The error of 2025-11-25 for a request that needs an elicitation in URL mode first.
const URL_ELICITATION_REQUIRED: i32 = -32042;

/// A link that the user of a client is asked to open before the call is made again.
pub(super) struct Link {
    pub(super) id: String,
    pub(super) url: String,
    /// What the user reads.
    pub(super) message: String,
    /// What the client reads.
    pub(super) reason: &'static str,
    /// What a client of 2026-07-28 sends with the call when it makes it again.
    pub(super) state: Option<String>,
}

impl Link {
    /// Returns what has the client ask its user.
    ///
    /// - 2026-07-28: a result of type `input_required`, after which the client makes the call again
    /// - 2025-11-25: the error -32042
    ///
    /// # Errors
    /// The error -32042.
    pub(super) fn ask(
        self,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Self {
            id, url, message, ..
        } = self;
        match revision(context) {
            Revision::Stateless => {
                let params = ElicitRequestParams::UrlElicitationParams {
                    meta: None,
                    message,
                    url,
                    elicitation_id: id.clone(),
                };
                let request = InputRequest::Elicitation(ElicitRequest::new(params));
                let requests = [(id, request)].into();
                let required = InputRequiredResult::new(Some(requests), self.state);
                Ok(CallToolResponse::InputRequired(required))
            }
            Revision::WithInitialize => {
                let elicitation =
                    json!({"mode": "url", "elicitationId": id, "url": url, "message": message});
                let data = json!({ "elicitations": [elicitation] });
                let code = ErrorCode(URL_ELICITATION_REQUIRED);
                Err(ErrorData::new(code, self.reason, Some(data)))
            }
        }
    }
}

/// Returns whether the client declared elicitation in URL mode.
pub(super) fn opens_urls(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
    elicitation.is_some_and(|elicitation| elicitation.url.is_some())
}
