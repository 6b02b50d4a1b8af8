//! What is under way: a turn, a step of it, a call in that.
//!
//! Each says that it has begun when it is made, and how it ended once: dropped without a word, it has
//! failed. So every `…started` and `tool.called` has exactly one end, also where a future is dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolhost_contract::{ToolError, ToolErrorCode, ToolResult, ToolStatus, Usage};

use super::emitter::{Emitter, Subject, status};
use super::event::{EventError, EventKind, bounded};
use super::span;
use super::trace::TraceContext;

/// A turn under way.
#[derive(Debug)]
pub(crate) struct TurnSpan(Open);

/// A step under way. Its calls may run at the same time.
#[derive(Debug)]
pub(crate) struct StepSpan(Open);

/// A tool call under way.
#[derive(Debug)]
pub(crate) struct CallSpan(Open);

/// How something ended.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) kind: EventKind,
    pub(super) status: ToolStatus,
    pub(super) duration: Option<Duration>,
    pub(super) error: Option<EventError>,
    pub(super) usage: Option<Usage>,
    pub(super) handle: Option<Arc<str>>,
}

impl TurnSpan {
    pub(super) fn begin(emitter: Emitter, turn_id: &str, trace: Option<&str>) -> Self {
        let trace = trace.filter(|text| !text.is_empty()).map_or_else(
            || TraceContext::root(emitter.current_traceparent().as_deref()),
            |trace| TraceContext::root(Some(trace)),
        );
        let subject = Subject {
            turn_id: bounded(turn_id),
            step_id: None,
            tool_call_id: None,
            tool_name: None,
        };
        let span = span::turn(&emitter, &subject, &trace);
        Self(Open::begin(&TURN, emitter, subject, trace, span))
    }

    /// Begins a step of this turn.
    pub(crate) fn step(&self, step_id: &str) -> StepSpan {
        let Open { emitter, trace, .. } = &self.0;
        let trace = trace.child();
        let subject = Subject {
            step_id: Some(bounded(step_id)),
            ..self.0.subject.clone()
        };
        let span = span::step(&self.0.span, emitter, &subject, &trace);
        StepSpan(Open::begin(&STEP, emitter.clone(), subject, trace, span))
    }

    /// Its place in the trace.
    pub(crate) fn trace(&self) -> &TraceContext {
        &self.0.trace
    }

    /// Its span, to run its parts in.
    pub(crate) fn span(&self) -> &tracing::Span {
        &self.0.span
    }

    /// Ends it: as failed where there is an error.
    pub(crate) fn end(mut self, error: Option<&ToolError>) {
        self.0.end(error.map(Into::into));
    }
}

impl StepSpan {
    /// Begins a call. The name is the one that results show: escaped and cut.
    pub(crate) fn call(&self, tool_call_id: &str, tool_name: &str) -> CallSpan {
        let Open { emitter, trace, .. } = &self.0;
        let trace = trace.child();
        let subject = Subject {
            tool_call_id: Some(bounded(tool_call_id)),
            tool_name: Some(bounded(tool_name)),
            ..self.0.subject.clone()
        };
        let span = span::call(&self.0.span, emitter, &subject, &trace);
        CallSpan(Open::begin(&CALL, emitter.clone(), subject, trace, span))
    }

    /// Its span, to run its parts in.
    pub(crate) fn span(&self) -> &tracing::Span {
        &self.0.span
    }

    /// Ends it: as failed where there is an error.
    pub(crate) fn end(mut self, error: Option<&ToolError>) {
        self.0.end(error.map(Into::into));
    }
}

impl CallSpan {
    /// Its span, to run the call in.
    pub(crate) fn span(&self) -> &tracing::Span {
        &self.0.span
    }

    /// Ends it with its result.
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
            handle: result.handle().map(bounded),
        });
    }
}

/// How one sort of activity is told.
#[derive(Debug)]
struct Sort {
    began: EventKind,
    completed: EventKind,
    failed: EventKind,
    /// None of the table: a turn or a step is no tool.
    dropped_code: Option<ToolErrorCode>,
    dropped: &'static str,
}

static TURN: Sort = Sort {
    began: EventKind::TurnStarted,
    completed: EventKind::TurnCompleted,
    failed: EventKind::TurnFailed,
    dropped_code: None,
    dropped: "the turn was dropped before it was closed",
};

static STEP: Sort = Sort {
    began: EventKind::StepStarted,
    completed: EventKind::StepCompleted,
    failed: EventKind::StepFailed,
    dropped_code: None,
    dropped: "the step was dropped before it was closed",
};

static CALL: Sort = Sort {
    began: EventKind::ToolCalled,
    completed: EventKind::ToolCompleted,
    failed: EventKind::ToolFailed,
    dropped_code: Some(ToolErrorCode::Cancelled),
    dropped: "the call was dropped before it ended",
};

#[derive(Debug)]
struct Open {
    sort: &'static Sort,
    emitter: Emitter,
    subject: Subject,
    trace: TraceContext,
    span: tracing::Span,
    began: Instant,
    is_over: bool,
}

impl Open {
    fn begin(
        sort: &'static Sort,
        emitter: Emitter,
        subject: Subject,
        trace: TraceContext,
        span: tracing::Span,
    ) -> Self {
        emitter.began(sort.began, &subject, &trace);
        Self {
            sort,
            emitter,
            subject,
            trace,
            span,
            began: Instant::now(),
            is_over: false,
        }
    }

    fn end(&mut self, error: Option<EventError>) {
        let sort = self.sort;
        self.end_as(|duration| Ending {
            kind: if error.is_none() {
                sort.completed
            } else {
                sort.failed
            },
            status: status(error.as_ref()),
            duration: Some(duration),
            error,
            usage: None,
            handle: None,
        });
    }

    fn end_as(&mut self, how: impl FnOnce(Duration) -> Ending) {
        self.is_over = true;
        let duration = self.began.elapsed();
        if self.span.is_disabled() && !self.emitter.is_watched() {
            return;
        }
        let ending = how(duration);
        span::ended(&self.span, &ending);
        self.emitter.ended(&self.subject, &self.trace, ending);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.is_over {
            let code = self.sort.dropped_code;
            let code = code.map_or("E_CANCELLED", ToolErrorCode::as_str);
            self.end(Some(EventError::new(code, self.sort.dropped)));
        }
    }
}
