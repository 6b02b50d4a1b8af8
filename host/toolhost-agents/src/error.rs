//! Why an agent could not be reached, or did not answer.

use toolhost_contract::{HandlerError, IpcError, ToolErrorCode};

use super::InstanceId;

/// Why a request, an event or a request to the orchestrator itself failed.
///
/// A model may read the message: it names the target, and the time or the reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum AgentsError {
    /// `AGENT_NOT_FOUND`: no agent of this name is registered.
    #[error("agent '{0}' is not known")]
    NotFound(String),
    /// `AGENT_REQUEST_TIMEOUT`: no answer in time. A turn that has begun is completed; its answer is
    /// dropped.
    #[error("agent '{target}' did not answer within {timeout_ms} ms")]
    Timeout {
        target: String,
        /// How long the request waited.
        timeout_ms: u64,
    },
    /// `CIRCULAR_CALL_DETECTED`: the target waits for the requester, or is the requester.
    #[error("a request to agent '{target}' would wait for itself: {}", waits(.circle))]
    Circular {
        target: String,
        /// The instances, each of which would wait for the next. The first and last is the requester.
        circle: Vec<InstanceId>,
    },
    /// `CIRCULAR_CALL_DETECTED`: too many agents would wait in a chain.
    #[error(
        "a request to agent '{target}' would make a chain of more than {depth_max} waiting agents"
    )]
    ChainTooLong {
        target: String,
        /// Longest chain.
        depth_max: usize,
    },
    /// `IPC_DELIVERY_FAILED`: the event was not handled by a completed turn.
    #[error("the event for agent '{target}' was not delivered: {reason}")]
    Undelivered { target: String, reason: Undelivered },
    /// The turn of the target failed with an error of the agent's own.
    #[error("the turn of agent '{target}' failed: {}", .error.message)]
    TurnFailed {
        target: String,
        /// The agent's error, unchecked.
        error: Box<HandlerError>,
    },
    /// One of the above, as the orchestrator reported it to an agent's process.
    #[error("{message}")]
    Reported {
        code: ToolErrorCode,
        message: String,
    },
}

impl AgentsError {
    /// Returns the host's code. That of [`AgentsError::TurnFailed`] is `E_TOOL`.
    pub fn code(&self) -> ToolErrorCode {
        match self {
            Self::NotFound(_) => ToolErrorCode::AgentNotFound,
            Self::Timeout { .. } => ToolErrorCode::AgentRequestTimeout,
            Self::Circular { .. } | Self::ChainTooLong { .. } => ToolErrorCode::CircularCall,
            Self::Undelivered { .. } => ToolErrorCode::IpcDeliveryFailed,
            Self::TurnFailed { .. } => ToolErrorCode::Tool,
            Self::Reported { code, .. } => *code,
        }
    }

    /// Returns the target's own error, if that is the reason.
    pub fn handler_error(&self) -> Option<&HandlerError> {
        if let Self::TurnFailed { error, .. } = self {
            Some(error)
        } else {
            None
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
    /// A limit of the orchestrator is reached: the text names it.
    #[error("{0}")]
    LimitReached(String),
    /// The requester may not send events to the instance: see [`Reach`](super::Reach).
    #[error("{0} is out of reach: an agent reaches instances of its own key")]
    OutOfReach(InstanceId),
    /// The orchestrator stops, or has stopped.
    #[error("the orchestrator has stopped")]
    Stopped,
    /// The event is too large, nested too deep, or has a field outside its limits.
    #[error("the message exceeds the IPC limits: {0}")]
    Malformed(IpcError),
    /// The event's type is one that only the orchestrator uses.
    #[error("the event type '{0}' is reserved")]
    ReservedType(String),
    /// An event of this id was accepted before.
    #[error("an event of the same id was accepted before")]
    Duplicate,
    /// The event could not be stored, and was not accepted.
    #[error("the event could not be stored")]
    NotStored(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The instance was lost on every delivery.
    #[error("{instance} was lost {attempts} times, last because {}", .loss.for_others())]
    Lost {
        /// The instance.
        instance: InstanceId,
        /// Number of deliveries.
        attempts: u32,
        /// The last loss.
        loss: Loss,
    },
    /// The connection to the orchestrator was closed.
    #[error("the connection to the orchestrator is closed")]
    Disconnected,
}

/// How an instance was lost during a turn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Loss {
    /// Its process cannot be started.
    #[error("its process cannot be started: {0}")]
    NotStarted(std::io::Error),
    /// Its process ended.
    #[error("its process {pid} ended: {status}")]
    Exited {
        /// The process.
        pid: u32,
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// Its process closed its output, and was killed.
    #[error("its process {pid} closed its output")]
    Closed {
        /// The process.
        pid: u32,
    },
    /// It panicked.
    #[error("it panicked")]
    Panicked,
    /// The host ended during each of its turns.
    #[error("the host ended during its turn")]
    HostEnded,
    /// The event cannot be read from the store.
    #[error("its event could not be read")]
    Unread,
}

impl Loss {
    /// The text for other agents and their models: without processes and files of the host.
    fn for_others(&self) -> String {
        match self {
            Self::NotStarted(_) => "its process cannot be started".to_owned(),
            Self::Exited { .. } => "its process ended".to_owned(),
            Self::Closed { .. } => "its process closed its output".to_owned(),
            Self::Panicked | Self::HostEnded | Self::Unread => self.to_string(),
        }
    }
}

/// Writes the instances of a circle.
fn waits(circle: &[InstanceId]) -> String {
    let instances: Vec<_> = circle.iter().map(InstanceId::to_string).collect();
    instances.join(" waits for ")
}
