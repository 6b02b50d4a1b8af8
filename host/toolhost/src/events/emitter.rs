//! Sends the events of one agent instance to its log and to the bus.

use std::path::Path;
use std::sync::Arc;

use super::bounded::bounded_id;
use super::bus::EventBus;
use super::event::{EventKind, RuntimeEvent};
use super::log::InstanceLog;
use super::subject::{Ending, Subject, milliseconds};
use super::trace::TraceContext;

/// Sends the events of one instance. Cheap to clone.
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

impl EventBus {
    /// Creates the emitter of an instance. `directory` receives its log: the instance's own directory,
    /// parent of its workspace.
    pub(crate) fn emitter(
        &self,
        agent_name: &str,
        instance_key: &str,
        directory: Option<&Path>,
    ) -> Emitter {
        Emitter(Arc::new(EmitterInner {
            bus: self.clone(),
            agent_name: bounded_id(agent_name),
            instance_key: bounded_id(instance_key),
            log: directory.map(|directory| self.log_in(directory)),
        }))
    }
}

impl Emitter {
    pub(super) fn agent_name(&self) -> &str {
        &self.0.agent_name
    }

    pub(super) fn instance_key(&self) -> &str {
        &self.0.instance_key
    }

    /// Returns whether there is a log or a subscriber.
    pub(super) fn is_watched(&self) -> bool {
        self.0.log.is_some() || self.0.bus.is_watched()
    }

    /// Returns the `traceparent` of the current span if a layer exports it.
    pub(super) fn current_traceparent(&self) -> Option<String> {
        self.0.bus.current_traceparent()
    }

    /// Sends the start event of an activity.
    pub(super) fn started(&self, kind: EventKind, subject: &Subject, trace: &TraceContext) {
        if self.is_watched() {
            self.emit(self.event(kind, subject, trace));
        }
    }

    /// Sends the end event of an activity.
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
