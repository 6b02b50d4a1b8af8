//! What an agent is to the orchestrator.

use async_trait::async_trait;
use serde_json::Value;
use toolhost_contract::{AgentEvent, HandlerError};

use super::AgentsClient;

/// An instance of an agent: it is told events, one at a time.
///
/// Events come at least once: after a crash the same event, of the same id, comes again.
#[async_trait]
pub trait AgentRuntime: Send + Sync {
    /// Takes one turn: does what the event asks for and says what came of it.
    ///
    /// `event.instanceKey` is always set, and `event.metadata.deliveryAttempt` counts from 1. Where
    /// the turn takes too long or the orchestrator stops, this future is dropped.
    ///
    /// An error of this library's own (`open_turn`, `open_step`, `close`) is best passed on with
    /// [`ToolError::into_raised`](toolhost_contract::ToolError::into_raised), which keeps its words.
    ///
    /// # Errors
    /// What the one who asked is told: [`AgentsError::TurnFailed`](super::AgentsError::TurnFailed).
    async fn on_event(&self, event: AgentEvent, turn: &TurnPort) -> Result<Value, HandlerError>;
}

/// What a turn may use. Valid as long as the turn.
#[derive(Debug, Clone)]
pub struct TurnPort {
    agents: AgentsClient,
    attempt: u32,
}

impl TurnPort {
    pub(super) fn new(agents: AgentsClient, attempt: u32) -> Self {
        Self { agents, attempt }
    }

    /// Other agents. Responses taken here are acknowledged when the turn ends well.
    #[must_use]
    pub fn agents(&self) -> &AgentsClient {
        &self.agents
    }

    /// Which delivery of the event this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }
}
