//! Subject and outcome of an event.

use std::sync::Arc;
use std::time::Duration;

use toolhost_contract::{ToolStatus, Usage};

use super::event::{EventError, EventKind};

/// Ids of the turn, step and call of an event.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) turn_id: Arc<str>,
    pub(super) step_id: Option<Arc<str>>,
    pub(super) tool_call_id: Option<Arc<str>>,
    pub(super) tool_name: Option<Arc<str>>,
}

/// Outcome of a turn, step or call.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) kind: EventKind,
    pub(super) status: ToolStatus,
    pub(super) duration: Option<Duration>,
    pub(super) error: Option<EventError>,
    pub(super) usage: Option<Usage>,
    pub(super) handle: Option<Arc<str>>,
}

/// Converts to milliseconds with a resolution of a microsecond.
pub(super) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
