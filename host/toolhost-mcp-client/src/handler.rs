//! Calls one tool of a server.

use std::sync::Arc;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};
use rmcp::service::{PeerRequestOptions, RequestHandle};
use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use toolhost::{
    BoxFuture, HandlerError, JsonObject,
    extension::{HandlerContext, HandlerFailure, ToolHandler},
};

use crate::answer::CallSlot;
use crate::egress_error::{EgressError, egress_error, words};
use crate::error::{bounded, unavailable};
use crate::output::{invalid, output, refused, refused_with, structured_output};
use crate::state::{Ready, ServerContext};
use crate::unauthorized::Unauthorized;

/// One tool of a server. Dropping the future of a call cancels it at the server.
pub(crate) struct McpTool {
    pub(crate) shared: Arc<ServerContext>,
    /// The server's name of the tool.
    pub(crate) name: Arc<str>,
    /// Whether the output is the structured content, which the host checks.
    pub(crate) has_output_schema: bool,
}

impl ToolHandler for McpTool {
    fn call(
        &self,
        _context: HandlerContext,
        input: JsonObject,
    ) -> BoxFuture<'_, Result<Value, HandlerFailure>> {
        Box::pin(async move { Ok(self.run(input).await?) })
    }
}

impl McpTool {
    async fn run(&self, input: JsonObject) -> Result<Value, HandlerError> {
        let server = &self.shared.config.name;
        let _slot = self.shared.calls.acquire().await;
        let connection = self.shared.ready().await?;
        let call = CallToolRequestParams::new(self.name.to_string()).with_arguments(input);
        loop {
            // Answered once or never: a call that was taken is not sent a second time.
            let slot = CallSlot::default();
            let error = match send(&connection.peer, call.clone(), slot.clone()).await {
                Ok(()) => {
                    let Some(answer) = slot.take() else {
                        return Err(invalid(server, "it has no result"));
                    };
                    let result = answer.result.map_err(|reason| invalid(server, &reason))?;
                    return if self.has_output_schema {
                        structured_output(server, result)
                    } else {
                        output(server, result)
                    };
                }
                Err(error) => error,
            };
            let ServiceError::TransportSend(failed) = &error else {
                return Err(self.failed(&connection, &error));
            };
            match egress_error(failed) {
                // How often a person is asked is limited.
                Some(EgressError::Unauthorized(refused)) => self.authorize(refused).await?,
                Some(EgressError::Refused(refused)) if refused.had_no_effect() => {
                    return Err(refused_with(server, &refused.to_string()));
                }
                Some(EgressError::InvalidBody(reason)) => return Err(invalid(server, reason)),
                _ => return Err(self.failed(&connection, &error)),
            }
        }
    }

    /// Asks a person to authorize a call that the server refused.
    async fn authorize(&self, refusal: &Unauthorized) -> Result<(), HandlerError> {
        let authorized = match &self.shared.oauth {
            Some(oauth) => oauth.authorize(refusal).await,
            None => Err(refusal.clone()),
        };
        authorized.map_err(|error| error.of_call(&self.shared.config.name))
    }

    /// Turns an error of the protocol's SDK into the model's.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever else happened, no answer will come"
    )]
    fn failed(&self, connection: &Ready, error: &ServiceError) -> HandlerError {
        let server = &self.shared.config.name;
        match error {
            ServiceError::McpError(error) => refused(server, error),
            lost => {
                let reason = match (connection.watch.failure(), lost) {
                    (Some(reason), _) => reason.to_string(),
                    (None, ServiceError::TransportClosed) => "the connection was closed".to_owned(),
                    (None, ServiceError::TransportSend(error)) => words(error),
                    (None, other) => bounded(other),
                };
                let lost = format!("{reason}; the call may have taken effect");
                unavailable(server, &lost)
                    .with_suggestion("Check what the call has changed before you repeat it.")
            }
        }
    }
}

/// Sends a call, and waits until its result is in the slot.
async fn send(
    peer: &Peer<RoleClient>,
    call: CallToolRequestParams,
    slot: CallSlot,
) -> Result<(), ServiceError> {
    let mut request = CallToolRequest::new(call);
    request.extensions.insert(slot);
    let request = ClientRequest::CallToolRequest(request);
    let options = PeerRequestOptions::no_options();
    let handle = peer.send_cancellable_request(request, options).await?;
    let mut running = CancelOnDrop(Some(handle));
    let response = match &mut running.0 {
        Some(handle) => (&mut handle.rx).await,
        None => return Err(ServiceError::TransportClosed),
    };
    running.0 = None;
    response
        .map_err(|_| ServiceError::TransportClosed)?
        .map(drop)
}

/// Cancels a request at the server when it is dropped before its answer.
struct CancelOnDrop(Option<RequestHandle<RoleClient>>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // It ends with the message, which has a time limit, or with the connection.
            runtime.spawn(handle.cancel(None));
        }
    }
}
