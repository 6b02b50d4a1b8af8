//! Running turns, steps and calls.
//!
//! Each sends its start event when it is created and exactly one end event. If it is dropped before
//! it is ended, for example with a cancelled future, it sends the event of a failure.

use std::time::Instant;

use toolhost_contract::{ToolError, ToolErrorCode, ToolResult, ToolStatus};

use super::bounded::bounded_id;
use super::emitter::Emitter;
use super::event::{EventError, EventKind, RuntimeEvent};
use super::span::{self, milliseconds};
use super::trace::TraceContext;

/// Events of one kind of activity.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    started: EventKind,
    completed: EventKind,
    failed: EventKind,
    /// Error code if it is dropped. Turns and steps have no `ToolErrorCode`: theirs is `E_CANCELLED`.
    dropped_code: Option<ToolErrorCode>,
}

static TURN: Kind = Kind {
    name: "turn",
    started: EventKind::TurnStarted,
    completed: EventKind::TurnCompleted,
    failed: EventKind::TurnFailed,
    dropped_code: None,
};

static STEP: Kind = Kind {
    name: "step",
    started: EventKind::StepStarted,
    completed: EventKind::StepCompleted,
    failed: EventKind::StepFailed,
    dropped_code: None,
};

static CALL: Kind = Kind {
    name: "call",
    started: EventKind::ToolCalled,
    completed: EventKind::ToolCompleted,
    failed: EventKind::ToolFailed,
    dropped_code: Some(ToolErrorCode::Cancelled),
};

/// A running turn, step or call. The calls of a step may run concurrently.
#[derive(Debug)]
pub(crate) struct Activity {
    kind: &'static Kind,
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
        let event = self.event(TURN.started, turn_id, trace);
        let span = span::turn(&event);
        Activity::start(&TURN, self, event, span)
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
    fn start(
        kind: &'static Kind,
        emitter: &Emitter,
        event: RuntimeEvent,
        span: tracing::Span,
    ) -> Self {
        emitter.emit(&event);
        Self {
            kind,
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
            kind: STEP.started,
            step_id: Some(bounded_id(step_id)),
            trace: self.event.trace.child(),
            ..self.event.clone()
        };
        let span = span::step(&self.span, &event);
        Self::start(&STEP, &self.emitter, event, span)
    }

    /// Starts a call of this step. `tool_name` is the escaped and truncated name of the result.
    pub(crate) fn call(&self, tool_call_id: &str, tool_name: &str) -> Self {
        let event = RuntimeEvent {
            kind: CALL.started,
            tool_call_id: Some(bounded_id(tool_call_id)),
            tool_name: Some(bounded_id(tool_name)),
            trace: self.event.trace.child(),
            ..self.event.clone()
        };
        let span = span::call(&self.span, &event);
        Self::start(&CALL, &self.emitter, event, span)
    }

    /// Returns the trace and span.
    pub(crate) fn trace(&self) -> &TraceContext {
        &self.event.trace
    }

    /// Returns the `tracing` span.
    pub(crate) fn span(&self) -> &tracing::Span {
        &self.span
    }

    /// Sends the end event of a turn or a step: failed if there is an error.
    pub(crate) fn end(mut self, error: Option<&ToolError>) {
        self.finish(|event, kind| event.set_error(error.map(Into::into), kind));
    }

    /// Sends the end event of a call.
    pub(crate) fn end_call(mut self, result: &ToolResult) {
        self.finish(|event, kind| {
            event.set_result(result);
            event.kind = match result.status() {
                ToolStatus::Ok => kind.completed,
                ToolStatus::Error => kind.failed,
                ToolStatus::Pending => EventKind::ToolPending,
            };
        });
    }

    fn finish(&mut self, set_outcome: impl FnOnce(&mut RuntimeEvent, &Kind)) {
        self.has_ended = true;
        if self.span.is_disabled() && !self.emitter.is_watched() {
            return;
        }
        self.event.duration_ms = Some(milliseconds(self.started_at.elapsed()));
        set_outcome(&mut self.event, self.kind);
        span::ended(&self.span, &self.event);
        self.emitter.emit(&self.event);
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if !self.has_ended {
            let code = self.kind.dropped_code;
            let code = code.map_or("E_CANCELLED", ToolErrorCode::as_str);
            let message = format!("the {} was dropped before it ended", self.kind.name);
            let error = EventError::new(code, &message);
            self.finish(|event, kind| event.set_error(Some(error), kind));
        }
    }
}

impl RuntimeEvent {
    fn set_error(&mut self, error: Option<EventError>, kind: &Kind) {
        (self.kind, self.status) = match &error {
            None => (kind.completed, Some(ToolStatus::Ok)),
            Some(_) => (kind.failed, Some(ToolStatus::Error)),
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
