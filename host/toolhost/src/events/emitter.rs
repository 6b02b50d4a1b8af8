//! Whose events they are: one instance of one agent.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolhost_contract::{ToolResult, ToolStatus};

use super::activity::{Ending, TurnSpan};
use super::bus::EventBus;
use super::event::{EventKind, RuntimeEvent, bounded};
use super::log::InstanceLog;
use super::span;
use super::trace::TraceContext;

/// Makes the events of one instance, for its log and for the bus. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Emitter(Arc<EmitterInner>);

struct EmitterInner {
    bus: EventBus,
    agent_name: Arc<str>,
    instance_key: Arc<str>,
    log: Option<InstanceLog>,
}

impl std::fmt::Debug for Emitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emitter")
            .field("agent_name", &self.0.agent_name)
            .field("instance_key", &self.0.instance_key)
            .finish_non_exhaustive()
    }
}

/// What an event is about, within its instance.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) turn_id: Arc<str>,
    pub(super) step_id: Option<Arc<str>>,
    pub(super) tool_call_id: Option<Arc<str>>,
    pub(super) tool_name: Option<Arc<str>>,
}

/// A call that was accepted earlier, perhaps by another process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SettledCall<'a> {
    /// Id of the turn that made it.
    pub(crate) turn_id: &'a str,
    /// Id of the call.
    pub(crate) tool_call_id: &'a str,
    /// Name that was called.
    pub(crate) tool_name: &'a str,
    /// The handle it was answered with.
    pub(crate) handle: &'a str,
    /// [`TraceContext::traceparent`] of the call, or what else is known of its trace.
    pub(crate) trace: Option<&'a str>,
    /// Time since it was called, where that is known.
    pub(crate) duration: Option<Duration>,
}

impl EventBus {
    /// Makes the events of one instance. `directory` is the instance's own, where its log is to be:
    /// the parent of its workspace.
    pub(crate) fn emitter(
        &self,
        agent_name: &str,
        instance_key: &str,
        directory: Option<&Path>,
    ) -> Emitter {
        Emitter(Arc::new(EmitterInner {
            bus: self.clone(),
            agent_name: bounded(agent_name),
            instance_key: bounded(instance_key),
            log: directory.map(|directory| self.log_in(directory)),
        }))
    }
}

impl Emitter {
    /// Begins a turn. `trace` is what the caller calls the trace: see [`TraceContext::root`].
    pub(crate) fn turn(&self, turn_id: &str, trace: Option<&str>) -> TurnSpan {
        TurnSpan::begin(self.clone(), turn_id, trace)
    }

    /// Says that a call that was accepted has ended.
    pub(crate) fn settled(&self, call: &SettledCall<'_>, result: &ToolResult) {
        let trace = TraceContext::root(call.trace);
        let subject = Subject {
            turn_id: bounded(call.turn_id),
            step_id: None,
            tool_call_id: Some(bounded(call.tool_call_id)),
            tool_name: Some(bounded(call.tool_name)),
        };
        let ending = Ending {
            kind: EventKind::ToolSettled,
            status: result.status(),
            duration: call.duration,
            error: result.tool_error().map(Into::into),
            usage: Some(result.usage().clone()),
            handle: Some(bounded(call.handle)),
        };
        span::ended(&span::settled(self, &subject, &trace), &ending);
        self.ended(&subject, &trace, ending);
    }

    pub(super) fn agent_name(&self) -> &str {
        &self.0.agent_name
    }

    pub(super) fn instance_key(&self) -> &str {
        &self.0.instance_key
    }

    /// Whether an event is worth making.
    pub(super) fn is_watched(&self) -> bool {
        self.0.log.is_some() || self.0.bus.is_watched()
    }

    /// Returns the `traceparent` of the current span, where a layer exports it.
    pub(super) fn current_traceparent(&self) -> Option<String> {
        self.0.bus.current_traceparent()
    }

    /// Says that something has begun.
    pub(super) fn began(&self, kind: EventKind, subject: &Subject, trace: &TraceContext) {
        if self.is_watched() {
            self.emit(self.event(kind, subject, trace));
        }
    }

    /// Says that something has ended.
    pub(super) fn ended(&self, subject: &Subject, trace: &TraceContext, ending: Ending) {
        if self.is_watched() {
            self.emit(RuntimeEvent {
                status: Some(ending.status),
                duration_ms: ending.duration.map(milliseconds),
                error: ending.error,
                usage: ending.usage,
                handle: ending.handle,
                ..self.event(ending.kind, subject, trace)
            });
        }
    }

    fn event(&self, kind: EventKind, subject: &Subject, trace: &TraceContext) -> RuntimeEvent {
        let subject = subject.clone();
        RuntimeEvent {
            kind,
            timestamp: self.0.bus.now(),
            agent_name: Arc::clone(&self.0.agent_name),
            instance_key: Arc::clone(&self.0.instance_key),
            turn_id: subject.turn_id,
            step_id: subject.step_id,
            tool_call_id: subject.tool_call_id,
            tool_name: subject.tool_name,
            trace: trace.clone(),
            status: None,
            duration_ms: None,
            error: None,
            usage: None,
            handle: None,
        }
    }

    fn emit(&self, event: RuntimeEvent) {
        let event = Arc::new(event);
        if let Some(log) = &self.0.log {
            log.write(&event);
        }
        self.0.bus.emit(event);
    }
}

/// Milliseconds, to the microsecond.
pub(super) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// What ended well or not.
pub(super) fn status(error: Option<&super::EventError>) -> ToolStatus {
    if error.is_none() {
        ToolStatus::Ok
    } else {
        ToolStatus::Error
    }
}
