//! Running turns, steps and calls.
//!
//! Each sends its start event when it is created and exactly one end event. If it is dropped before
//! `end` is called, for example with a cancelled future, it sends the event of a failure.

use std::time::{Duration, Instant};

use toolhost_contract::{ToolError, ToolErrorCode, ToolResult, ToolStatus};

use super::bounded::bounded_id;
use super::emitter::Emitter;
use super::event::{EventError, EventKind};
use super::span;
use super::subject::{Ending, Subject};
use super::trace::TraceContext;

/// A running turn.
#[derive(Debug)]
pub(crate) struct TurnSpan(Activity);

/// A running step. Its calls may run concurrently.
#[derive(Debug)]
pub(crate) struct StepSpan(Activity);

/// A running tool call.
#[derive(Debug)]
pub(crate) struct CallSpan(Activity);

/// A background call, perhaps started by another process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SettledCall<'a> {
    /// Id of the turn.
    pub(crate) turn_id: &'a str,
    /// Id of the call.
    pub(crate) tool_call_id: &'a str,
    /// Name of the called tool.
    pub(crate) tool_name: &'a str,
    /// Handle of the call.
    pub(crate) handle: &'a str,
    /// [`TraceContext::traceparent`] of the call, or another argument of [`TraceContext::root`].
    pub(crate) trace: Option<&'a str>,
    /// Time since the call, if known.
    pub(crate) duration: Option<Duration>,
}

impl Emitter {
    /// Starts a turn. `trace` is an argument of [`TraceContext::root`].
    pub(crate) fn turn(&self, turn_id: &str, trace: Option<&str>) -> TurnSpan {
        let trace = trace.filter(|text| !text.is_empty()).map_or_else(
            || TraceContext::root(self.current_traceparent().as_deref()),
            |trace| TraceContext::root(Some(trace)),
        );
        let subject = Subject {
            turn_id: bounded_id(turn_id),
            step_id: None,
            tool_call_id: None,
            tool_name: None,
        };
        let span = span::turn(self, &subject, &trace);
        TurnSpan(Activity::start(&TURN, self.clone(), subject, trace, span))
    }

    /// Sends the end event of a background call.
    pub(crate) fn settled(&self, call: &SettledCall<'_>, result: &ToolResult) {
        let trace = TraceContext::root(call.trace);
        let subject = Subject {
            turn_id: bounded_id(call.turn_id),
            step_id: None,
            tool_call_id: Some(bounded_id(call.tool_call_id)),
            tool_name: Some(bounded_id(call.tool_name)),
        };
        let ending = Ending {
            kind: EventKind::ToolSettled,
            status: result.status(),
            duration: call.duration,
            error: result.tool_error().map(Into::into),
            usage: Some(result.usage().clone()),
            handle: Some(bounded_id(call.handle)),
        };
        span::ended(&span::settled(self, &subject, &trace), &ending);
        self.ended(&subject, &trace, ending);
    }
}

impl TurnSpan {
    /// Starts a step of this turn.
    pub(crate) fn step(&self, step_id: &str) -> StepSpan {
        let Activity { emitter, trace, .. } = &self.0;
        let trace = trace.child();
        let subject = Subject {
            step_id: Some(bounded_id(step_id)),
            ..self.0.subject.clone()
        };
        let span = span::step(&self.0.span, emitter, &subject, &trace);
        StepSpan(Activity::start(
            &STEP,
            emitter.clone(),
            subject,
            trace,
            span,
        ))
    }

    /// Returns the trace and span of the turn.
    pub(crate) fn trace(&self) -> &TraceContext {
        &self.0.trace
    }

    /// Returns the `tracing` span.
    pub(crate) fn span(&self) -> &tracing::Span {
        &self.0.span
    }

    /// Sends the end event: failed if there is an error.
    pub(crate) fn end(mut self, error: Option<&ToolError>) {
        self.0.end(error.map(Into::into));
    }
}

impl StepSpan {
    /// Starts a call. `tool_name` is the escaped and truncated name of the result.
    pub(crate) fn call(&self, tool_call_id: &str, tool_name: &str) -> CallSpan {
        let Activity { emitter, trace, .. } = &self.0;
        let trace = trace.child();
        let subject = Subject {
            tool_call_id: Some(bounded_id(tool_call_id)),
            tool_name: Some(bounded_id(tool_name)),
            ..self.0.subject.clone()
        };
        let span = span::call(&self.0.span, emitter, &subject, &trace);
        CallSpan(Activity::start(
            &CALL,
            emitter.clone(),
            subject,
            trace,
            span,
        ))
    }

    /// Returns the `tracing` span.
    pub(crate) fn span(&self) -> &tracing::Span {
        &self.0.span
    }

    /// Sends the end event: failed if there is an error.
    pub(crate) fn end(mut self, error: Option<&ToolError>) {
        self.0.end(error.map(Into::into));
    }
}

impl CallSpan {
    /// Returns the `tracing` span.
    pub(crate) fn span(&self) -> &tracing::Span {
        &self.0.span
    }

    /// Sends the end event for a result.
    pub(crate) fn end(mut self, result: &ToolResult) {
        let kind = match result.status() {
            ToolStatus::Ok => EventKind::ToolCompleted,
            ToolStatus::Error => EventKind::ToolFailed,
            ToolStatus::Pending => EventKind::ToolPending,
        };
        self.0.end_as(|duration| Ending {
            kind,
            status: result.status(),
            duration: Some(duration),
            error: result.tool_error().map(Into::into),
            usage: Some(result.usage().clone()),
            handle: result.handle().map(bounded_id),
        });
    }
}

/// Events of one kind of activity.
#[derive(Debug)]
struct Kind {
    started: EventKind,
    completed: EventKind,
    failed: EventKind,
    /// Set for calls. Turns and steps have no `ToolErrorCode` and report `E_CANCELLED`.
    dropped_code: Option<ToolErrorCode>,
    dropped_message: &'static str,
}

static TURN: Kind = Kind {
    started: EventKind::TurnStarted,
    completed: EventKind::TurnCompleted,
    failed: EventKind::TurnFailed,
    dropped_code: None,
    dropped_message: "the turn was dropped before it was closed",
};

static STEP: Kind = Kind {
    started: EventKind::StepStarted,
    completed: EventKind::StepCompleted,
    failed: EventKind::StepFailed,
    dropped_code: None,
    dropped_message: "the step was dropped before it was closed",
};

static CALL: Kind = Kind {
    started: EventKind::ToolCalled,
    completed: EventKind::ToolCompleted,
    failed: EventKind::ToolFailed,
    dropped_code: Some(ToolErrorCode::Cancelled),
    dropped_message: "the call was dropped before it ended",
};

#[derive(Debug)]
struct Activity {
    kind: &'static Kind,
    emitter: Emitter,
    subject: Subject,
    trace: TraceContext,
    span: tracing::Span,
    started_at: Instant,
    has_ended: bool,
}

impl Activity {
    fn start(
        kind: &'static Kind,
        emitter: Emitter,
        subject: Subject,
        trace: TraceContext,
        span: tracing::Span,
    ) -> Self {
        emitter.started(kind.started, &subject, &trace);
        Self {
            kind,
            emitter,
            subject,
            trace,
            span,
            started_at: Instant::now(),
            has_ended: false,
        }
    }

    fn end(&mut self, error: Option<EventError>) {
        let all = self.kind;
        let (kind, status) = match &error {
            None => (all.completed, ToolStatus::Ok),
            Some(_) => (all.failed, ToolStatus::Error),
        };
        self.end_as(|duration| Ending {
            kind,
            status,
            duration: Some(duration),
            error,
            usage: None,
            handle: None,
        });
    }

    fn end_as(&mut self, ending: impl FnOnce(Duration) -> Ending) {
        self.has_ended = true;
        let duration = self.started_at.elapsed();
        if self.span.is_disabled() && !self.emitter.is_watched() {
            return;
        }
        let ending = ending(duration);
        span::ended(&self.span, &ending);
        self.emitter.ended(&self.subject, &self.trace, ending);
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if !self.has_ended {
            let code = self.kind.dropped_code;
            let code = code.map_or("E_CANCELLED", ToolErrorCode::as_str);
            self.end(Some(EventError::new(code, self.kind.dropped_message)));
        }
    }
}
