//! Calls one tool of a server.

use std::sync::Arc;

use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult};
use serde_json::Value;
use toolhost::{
    BoxFuture, HandlerError, JsonObject, ResourceName,
    extension::{HandlerContext, HandlerFailure, ToolHandler},
};

use crate::egress_error::unauthorized;
use crate::error::{bounded, unavailable};
use crate::output::{output, refused, structured_output};
use crate::state::{Ready, Shared};
use crate::unauthorized::Unauthorized;

/// One tool of a server. Dropping the future of a call cancels it at the server.
pub(crate) struct McpTool {
    pub(crate) shared: Arc<Shared>,
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
            let error = match connection.peer.call_tool_once(call.clone()).await {
                Ok(CallToolResponse::Complete(result)) => return self.output(result),
                Ok(CallToolResponse::InputRequired(_)) => return Err(input_required(server)),
                Ok(_) => ServiceError::UnexpectedResponse,
                Err(error) => error,
            };
            let ServiceError::TransportSend(refused) = &error else {
                return Err(self.failed(&connection, &error));
            };
            match unauthorized(refused) {
                // How often a person is asked is limited.
                Some(refused) => self.authorize(refused).await?,
                None => return Err(self.failed(&connection, &error)),
            }
        }
    }

    fn output(&self, result: CallToolResult) -> Result<Value, HandlerError> {
        let server = &self.shared.config.name;
        match self.has_output_schema {
            true => structured_output(server, result),
            false => output(server, result),
        }
    }

    /// Asks a person to authorize a call that the server refused.
    async fn authorize(&self, refused: &Unauthorized) -> Result<(), HandlerError> {
        let asked = match &self.shared.oauth {
            Some(oauth) => oauth.authorize(refused).await,
            None => Err(refused.clone()),
        };
        asked.map_err(|error| error.of_call(&self.shared.config.name))
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
            ServiceError::UnexpectedResponse => {
                let message = format!(
                    "The MCP server '{server}' answered the call with something other than a tool's result."
                );
                HandlerError::new(message).with_code("MCP_INVALID_ANSWER")
            }
            lost => {
                let reason = match (connection.watch.failure(), lost) {
                    (Some(reason), _) => reason.to_string(),
                    (None, ServiceError::TransportClosed) => "the connection was closed".to_owned(),
                    (None, ServiceError::TransportSend(error)) => bounded(error),
                    (None, other) => bounded(other),
                };
                let lost = format!("{reason}; the call may have taken effect");
                unavailable(server, &lost)
                    .with_suggestion("Check what the call has changed before you repeat it.")
            }
        }
    }
}

fn input_required(server: &ResourceName) -> HandlerError {
    let message = format!("The tool of the MCP server '{server}' asks for input of a person.");
    HandlerError::new(message)
        .with_code("MCP_INPUT_REQUIRED")
        .with_suggestion("Use another tool: this host gives no input to running calls.")
}
