//! Running turns and steps, and the emitter of their events.
//!
//! Each activity sends its start event when it is created and exactly one end event. If it is dropped before
//! it is ended, for example with a cancelled future, it sends the event of a failure.

use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use toolhost_contract::{Timestamp, ToolError, ToolErrorCode, ToolResult, ToolStatus};
use tracing::level_filters::LevelFilter;

use super::bounded::bounded_id;
use super::bus::EventBus;
use super::event::{EventError, EventKind, RuntimeEvent};
use super::log::InstanceLog;
use super::span::{self, milliseconds};
use super::trace::TraceContext;
use crate::middleware::CallIdentity;

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
    /// Returns whether there is a log or a subscriber.
    fn is_watched(&self) -> bool {
        self.0.log.is_some() || self.0.bus.is_watched()
    }

    /// Returns the `traceparent` of the current span if a layer exports it.
    fn current_traceparent(&self) -> Option<String> {
        (self.0.bus.config().current_traceparent)()
    }

    /// Returns an event of this instance. [`Self::emit`] sets its time.
    fn event(&self, kind: EventKind, turn_id: &str, trace: TraceContext) -> RuntimeEvent {
        RuntimeEvent {
            kind,
            timestamp: Timestamp(UNIX_EPOCH),
            agent_name: Arc::clone(&self.0.agent_name),
            instance_key: Arc::clone(&self.0.instance_key),
            turn_id: bounded_id(turn_id),
            step_id: None,
            tool_call_id: None,
            tool_name: None,
            trace,
            status: None,
            duration_ms: None,
            error: None,
            usage: None,
            handle: None,
            auth: None,
        }
    }

    /// Sends a copy of an event with the current time, if there is a log or a subscriber.
    fn emit(&self, event: &RuntimeEvent) {
        if !self.is_watched() {
            return;
        }
        let event = Arc::new(RuntimeEvent {
            timestamp: Timestamp((self.0.bus.config().clock)()),
            ..event.clone()
        });
        if let Some(log) = &self.0.log {
            log.write(&event);
        }
        self.0.bus.emit(event);
    }
}

/// A running turn or step, or a call that is observed. The calls of a step may run concurrently.
#[derive(Debug)]
pub(crate) struct Activity {
    emitter: Emitter,
    /// The start event; at the end, the end event.
    event: RuntimeEvent,
    span: tracing::Span,
    started_at: Instant,
    has_ended: bool,
}

impl Emitter {
    /// Starts a turn. `trace` is an argument of [`TraceContext::root`].
    pub(crate) fn turn(&self, turn_id: &str, trace: Option<&str>) -> Activity {
        let trace = trace.filter(|text| !text.is_empty()).map_or_else(
            || TraceContext::root(self.current_traceparent().as_deref()),
            |trace| TraceContext::root(Some(trace)),
        );
        let event = self.event(EventKind::TurnStarted, turn_id, trace);
        let span = span::turn(&event);
        Activity::start(self, event, span)
    }

    /// Sends the end event of a background call, perhaps started by another process. `trace` is an
    /// argument of [`TraceContext::root`].
    pub(crate) fn settled(
        &self,
        turn_id: &str,
        trace: Option<&str>,
        handle: &str,
        result: &ToolResult,
    ) {
        let trace = TraceContext::root(trace);
        let mut event = RuntimeEvent {
            tool_call_id: Some(bounded_id(result.tool_call_id())),
            tool_name: Some(bounded_id(result.tool_name())),
            ..self.event(EventKind::ToolSettled, turn_id, trace)
        };
        event.set_result(result);
        event.handle = Some(bounded_id(handle));
        span::ended(&span::settled(&event), &event);
        self.emit(&event);
    }
}

impl Activity {
    fn start(emitter: &Emitter, event: RuntimeEvent, span: tracing::Span) -> Self {
        emitter.emit(&event);
        Self {
            emitter: emitter.clone(),
            event,
            span,
            started_at: Instant::now(),
            has_ended: false,
        }
    }

    /// Starts a step of this turn.
    pub(crate) fn step(&self, step_id: &str) -> Self {
        let event = RuntimeEvent {
            kind: EventKind::StepStarted,
            step_id: Some(bounded_id(step_id)),
            trace: self.event.trace.child(),
            ..self.event.clone()
        };
        let span = span::step(&self.span, &event);
        Self::start(&self.emitter, event, span)
    }

    /// Returns the start event of a call of this step.
    pub(super) fn called(&self, call: &CallIdentity) -> RuntimeEvent {
        RuntimeEvent {
            kind: EventKind::ToolCalled,
            tool_call_id: Some(bounded_id(&call.call_id)),
            tool_name: Some(bounded_id(&call.tool_name)),
            trace: self.event.trace.child(),
            ..self.event.clone()
        }
    }

    /// Returns whether a log, a subscriber or a `tracing` subscriber may receive what happens in this
    /// activity.
    pub(super) fn is_observed(&self) -> bool {
        LevelFilter::current() >= LevelFilter::INFO || self.is_watched()
    }

    /// Returns whether there is a log or a subscriber.
    pub(super) fn is_watched(&self) -> bool {
        self.emitter.is_watched()
    }

    /// Starts a call of this step, and sends its start event.
    pub(super) fn start_call(&self, call: &CallIdentity) -> Self {
        let event = self.called(call);
        let span = span::call(&self.span, &event);
        Self::start(&self.emitter, event, span)
    }

    /// Returns a call of this step whose start was observed by nobody.
    pub(super) fn unobserved_call(&self, call: &CallIdentity, started_at: Instant) -> Self {
        Self {
            emitter: self.emitter.clone(),
            event: self.called(call),
            span: tracing::Span::none(),
            started_at,
            has_ended: false,
        }
    }

    pub(crate) fn trace(&self) -> &TraceContext {
        &self.event.trace
    }

    pub(crate) fn span(&self) -> &tracing::Span {
        &self.span
    }

    /// Sends the end event of a turn or a step: failed if there is an error.
    pub(crate) fn end(mut self, error: Option<&ToolError>) {
        self.finish(|event, kinds| event.set_error(error.map(Into::into), kinds));
    }

    /// Sends the end event of a call.
    pub(super) fn end_call(mut self, result: &ToolResult) {
        self.finish(|event, [completed, failed]| {
            event.set_result(result);
            event.kind = match result.status() {
                ToolStatus::Ok => completed,
                ToolStatus::Error => failed,
                ToolStatus::Pending => EventKind::ToolPending,
            };
        });
    }

    /// Returns the name, and the kinds of end events: completed, failed.
    fn kind(&self) -> (&'static str, [EventKind; 2]) {
        match (&self.event.step_id, &self.event.tool_call_id) {
            (None, _) => ("turn", [EventKind::TurnCompleted, EventKind::TurnFailed]),
            (_, None) => ("step", [EventKind::StepCompleted, EventKind::StepFailed]),
            (_, Some(_)) => ("call", [EventKind::ToolCompleted, EventKind::ToolFailed]),
        }
    }

    fn finish(&mut self, set_outcome: impl FnOnce(&mut RuntimeEvent, [EventKind; 2])) {
        self.has_ended = true;
        if self.span.is_disabled() && !self.emitter.is_watched() {
            return;
        }
        let (_, kinds) = self.kind();
        self.event.duration_ms = Some(milliseconds(self.started_at.elapsed()));
        set_outcome(&mut self.event, kinds);
        span::ended(&self.span, &self.event);
        self.emitter.emit(&self.event);
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if !self.has_ended {
            let (name, _) = self.kind();
            // Turns and steps have no `ToolErrorCode`.
            let code = match self.event.tool_call_id {
                Some(_) => ToolErrorCode::Cancelled.as_str(),
                None => "E_CANCELLED",
            };
            let error = EventError::new(code, &format!("the {name} was dropped before it ended"));
            self.finish(|event, kinds| event.set_error(Some(error), kinds));
        }
    }
}

impl RuntimeEvent {
    fn set_error(&mut self, error: Option<EventError>, [completed, failed]: [EventKind; 2]) {
        (self.kind, self.status) = match &error {
            None => (completed, Some(ToolStatus::Ok)),
            Some(_) => (failed, Some(ToolStatus::Error)),
        };
        self.error = error;
    }

    fn set_result(&mut self, result: &ToolResult) {
        self.status = Some(result.status());
        self.error = result.tool_error().map(Into::into);
        self.usage = Some(result.usage().clone());
        self.handle = result.handle().map(bounded_id);
    }
}
