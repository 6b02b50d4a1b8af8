//! The interface that an agent implements.

use async_trait::async_trait;
use serde_json::Value;
use toolhost_contract::{AgentEvent, HandlerError};

use super::AgentsClient;

/// An instance of an agent, which handles events one at a time.
///
/// An event is delivered at least once: after a crash the same event is delivered again, with the same id.
#[async_trait]
pub trait AgentRuntime: Send + Sync {
    /// Takes one turn: handles the event and returns the answer.
    ///
    /// `event.instanceKey` is always set, and `event.metadata.deliveryAttempt` counts from 1. The future is
    /// dropped if the turn takes too long or the orchestrator stops.
    ///
    /// `?` converts any error. It keeps the code, the suggestion and the page of an error of toolhost's own
    /// (`open_turn`, `open_step`, `close`).
    ///
    /// # Errors
    /// The error that the requester gets: [`AgentsError::TurnFailed`](super::AgentsError::TurnFailed).
    async fn on_event(&self, event: AgentEvent, turn: &TurnPort) -> Result<Value, HandlerError>;
}

/// The other agents, and the number of the delivery, for one turn.
#[derive(Debug, Clone)]
pub struct TurnPort {
    agents: AgentsClient,
    attempt: u32,
}

impl TurnPort {
    pub(super) fn new(agents: AgentsClient, attempt: u32) -> Self {
        Self { agents, attempt }
    }

    /// Returns the client of this turn. Responses taken with it are acknowledged if the turn ends without an
    /// error.
    pub fn agents(&self) -> &AgentsClient {
        &self.agents
    }

    /// Returns the number of the delivery of the event, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }
}
