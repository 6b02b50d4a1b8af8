//! Why the client is not authorized.

use std::fmt;

use toolhost::{HandlerError, ResourceName};

use crate::challenge::Challenge;
use crate::error::bounded;

/// A server did not accept a request for want of authorization.
#[derive(Debug, Clone)]
pub(crate) struct Unauthorized {
    reason: String,
    /// What the server asked for. None: asking a person does not help.
    pub(crate) challenge: Option<Challenge>,
    next: NextMove,
}

/// What ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextMove {
    /// OAuth is off, or the credentials of the policy are wrong.
    ChangePolicy,
    /// A person authorizes the host.
    Login,
    /// Time.
    Wait,
}

impl Unauthorized {
    pub(crate) fn new(next: NextMove, reason: impl fmt::Display) -> Self {
        Self {
            reason: bounded(reason),
            challenge: None,
            next,
        }
    }

    /// The server asked for an authorization that a person can give.
    pub(crate) fn challenged(challenge: Challenge) -> Self {
        Self {
            challenge: Some(challenge.clone()),
            ..Self::new(NextMove::Login, challenge)
        }
    }

    /// OAuth is off for this server.
    pub(crate) fn without_oauth(status: http::StatusCode) -> Self {
        let reason = format!("it requires authorization: it answered with HTTP {status}");
        Self::new(NextMove::ChangePolicy, reason)
    }

    /// The same with another reason.
    pub(crate) fn with_reason(&self, reason: &str) -> Self {
        Self {
            reason: bounded(reason),
            ..self.clone()
        }
    }

    /// Whether a person may end it.
    pub(crate) fn asks(&self) -> bool {
        self.challenge.is_some()
    }

    /// The error of a call.
    pub(crate) fn of_call(&self, server: &ResourceName) -> HandlerError {
        let next = match self.next {
            NextMove::ChangePolicy => format!(
                "Ask the operator: the policy's mcpServers.{server} needs 'oauth: {{}}' or other credentials."
            ),
            NextMove::Login => format!(
                "Ask a person to authorize this host, with `toolhost mcp login {server}`; then call again."
            ),
            NextMove::Wait => "Call the tool again later.".to_owned(),
        };
        let message = format!("The MCP server '{server}' did not accept the call: {self}.");
        HandlerError::new(message)
            .with_code("MCP_UNAUTHORIZED")
            .with_suggestion(next)
    }
}

impl fmt::Display for Unauthorized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Unauthorized {}
