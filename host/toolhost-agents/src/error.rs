//! Why agents could not be reached, or did not answer.

use std::fmt;

use toolhost_contract::{HandlerError, IpcError, ToolErrorCode};

use super::InstanceId;

/// Why a request, an event or a question to the orchestrator failed.
///
/// The message is meant for the model: it names the target, and the time or the reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentsError {
    /// `AGENT_NOT_FOUND`: no agent of this name is registered.
    #[error("agent '{target}' is not known")]
    NotFound {
        /// Who was meant.
        target: String,
    },
    /// `AGENT_REQUEST_TIMEOUT`: no answer in time. A turn that has begun goes on; its answer is dropped.
    #[error("agent '{target}' did not answer within {timeout_ms} ms")]
    Timeout {
        /// Who was asked.
        target: String,
        /// How long it was waited for.
        timeout_ms: u64,
    },
    /// `CIRCULAR_CALL_DETECTED`: the target waits for the one who asks, or is it.
    #[error("asking agent '{target}' would never end: {}", Circle(.circle))]
    Circular {
        /// Who was asked.
        target: String,
        /// Who would wait for whom, beginning and ending with the one who asks.
        circle: Vec<InstanceId>,
    },
    /// `CIRCULAR_CALL_DETECTED`: too many agents wait for each other already.
    #[error("asking agent '{target}' would make a chain of more than {depth_max} agents that wait")]
    ChainTooLong {
        /// Who was asked.
        target: String,
        /// How many may be.
        depth_max: usize,
    },
    /// `IPC_DELIVERY_FAILED`: the event did not reach a turn that ended.
    #[error("the event for agent '{target}' was not delivered: {reason}")]
    Undelivered {
        /// Who it was for.
        target: String,
        /// Why not.
        reason: Undelivered,
    },
    /// The turn of the agent that was asked failed: its own error, none of the host's.
    #[error("the turn of agent '{target}' failed: {}", .error.message)]
    TurnFailed {
        /// Who was asked.
        target: String,
        /// What it raised, unchecked.
        error: Box<HandlerError>,
    },
    /// What the orchestrator told an agent's process: one of the above.
    #[error("{message}")]
    Told {
        /// Its code.
        code: ToolErrorCode,
        /// Its message.
        message: String,
    },
}

impl AgentsError {
    /// The host's code. Of [`AgentsError::TurnFailed`] it is `E_TOOL`, where the agent's error has no
    /// code of its own.
    #[must_use]
    pub fn code(&self) -> ToolErrorCode {
        match self {
            Self::NotFound { .. } => ToolErrorCode::AgentNotFound,
            Self::Timeout { .. } => ToolErrorCode::AgentRequestTimeout,
            Self::Circular { .. } | Self::ChainTooLong { .. } => ToolErrorCode::CircularCall,
            Self::Undelivered { .. } => ToolErrorCode::IpcDeliveryFailed,
            Self::TurnFailed { .. } => ToolErrorCode::Tool,
            Self::Told { code, .. } => *code,
        }
    }

    /// What the agent that was asked raised itself, where that is the reason.
    #[must_use]
    pub fn handler_error(&self) -> Option<&HandlerError> {
        match self {
            Self::TurnFailed { error, .. } => Some(error),
            Self::NotFound { .. }
            | Self::Timeout { .. }
            | Self::Circular { .. }
            | Self::ChainTooLong { .. }
            | Self::Undelivered { .. }
            | Self::Told { .. } => None,
        }
    }

    pub(super) fn undelivered(target: &str, reason: Undelivered) -> Self {
        Self::Undelivered {
            target: target.to_owned(),
            reason,
        }
    }
}

/// Why an event was not delivered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Undelivered {
    /// The mailbox is full.
    #[error("{instance} has {capacity} events waiting already")]
    MailboxFull {
        /// Whose mailbox.
        instance: InstanceId,
        /// How many it holds.
        capacity: usize,
    },
    /// The events in the mailbox are too large together.
    #[error(
        "{instance} has {bytes_max} bytes of events waiting already, or would have with this one"
    )]
    MailboxTooLarge {
        /// Whose mailbox.
        instance: InstanceId,
        /// How many bytes may wait.
        bytes_max: usize,
    },
    /// Too many instances run.
    #[error("{instances_max} instances of agents run already")]
    TooManyInstances {
        /// How many may run.
        instances_max: usize,
    },
    /// Too many responses to async requests are kept, or on their way, and not taken.
    #[error("{responses_max} responses wait to be taken already")]
    TooManyResponses {
        /// How many may.
        responses_max: usize,
    },
    /// The responses to async requests that are kept, and not taken, are too large together.
    #[error("{responses_bytes} bytes of responses wait to be taken already")]
    ResponsesTooLarge {
        /// How many bytes may.
        responses_bytes: usize,
    },
    /// Too many requests of one process are under way.
    #[error("{under_way_max} events of this process are under way already")]
    TooManyUnderWay {
        /// How many may be.
        under_way_max: usize,
    },
    /// The instance is not one that this one may speak to: see [`Reach`](super::Reach).
    #[error("{instance} is out of reach; an agent speaks to instances of its own key")]
    OutOfReach {
        /// Who was meant.
        instance: InstanceId,
    },
    /// The orchestrator stops, or has stopped.
    #[error("the orchestrator has stopped")]
    Stopped,
    /// The event cannot travel: too large, too deep, or a field outside its limits.
    #[error("it cannot travel: {0}")]
    Malformed(IpcError),
    /// The event's type is one that only the orchestrator uses.
    #[error("the type '{0}' is reserved")]
    ReservedType(String),
    /// An event of this id was accepted before.
    #[error("an event of its id was accepted before")]
    Duplicate,
    /// It could not be stored, and so was not accepted.
    #[error("it could not be stored")]
    NotStored(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The agent was lost on every delivery.
    #[error("{instance} was lost {attempts} times, last because {}", .loss.for_others())]
    Lost {
        /// Who was lost.
        instance: InstanceId,
        /// How often it was delivered.
        attempts: u32,
        /// How it was lost the last time.
        loss: Loss,
    },
    /// The orchestrator gave no answer: the connection to it is gone.
    #[error("the connection to the orchestrator is gone")]
    Disconnected,
}

/// How an instance was lost in the middle of a turn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Loss {
    /// Its process cannot be started.
    #[error("its process cannot be started: {0}")]
    NotStarted(std::io::Error),
    /// Its process ended.
    #[error("its process {pid} ended: {status}")]
    Exited {
        /// Which process.
        pid: u32,
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// Its process closed its output and was killed.
    #[error("its process {pid} closed its output")]
    Closed {
        /// Which process.
        pid: u32,
    },
    /// It panicked.
    #[error("it panicked")]
    Panicked,
    /// The host ended during its turn, each time.
    #[error("the host ended during its turn")]
    HostEnded,
    /// The event cannot be read from the store.
    #[error("its event could not be read")]
    Unread,
}

impl Loss {
    /// What another agent is told, which may be its model: nothing of the host's processes and files.
    fn for_others(&self) -> &'static str {
        match self {
            Self::NotStarted(_) => "its process cannot be started",
            Self::Exited { .. } => "its process ended",
            Self::Closed { .. } => "its process closed its output",
            Self::Panicked => "it panicked",
            Self::HostEnded => "the host ended during its turn",
            Self::Unread => "its event could not be read",
        }
    }
}

struct Circle<'a>(&'a [InstanceId]);

impl fmt::Display for Circle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, instance) in self.0.iter().enumerate() {
            let between = if index == 0 { "" } else { " waits for " };
            write!(f, "{between}{instance}")?;
        }
        Ok(())
    }
}
