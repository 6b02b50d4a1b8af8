//! `tracing` spans of target `toolhost::call`, level INFO: turn ▶ step ▶ tool.call.
//!
//! Fields follow OpenTelemetry's semantic conventions if there are any (`gen_ai.*`, `error.type`);
//! the others begin with `toolhost.`. The fields of a disabled span are not evaluated.

use tracing::{Span, field::Empty, info_span};

use super::emitter::Emitter;
use super::subject::{Ending, Subject, milliseconds};
use super::trace::TraceContext;

/// Creates a span with the fields that all spans have.
macro_rules! span {
    ($parent:expr, $name:literal, $emitter:expr, $subject:expr, $trace:expr, $($field:tt)*) => {
        info_span!(
            target: "toolhost::call",
            parent: $parent,
            $name,
            otel.kind = "internal",
            gen_ai.agent.name = $emitter.agent_name(),
            gen_ai.conversation.id = $emitter.instance_key(),
            toolhost.turn_id = &*$subject.turn_id,
            toolhost.step_id = $subject.step_id.as_deref(),
            toolhost.trace_id = %$trace.trace_id(),
            toolhost.span_id = %$trace.span_id(),
            toolhost.parent_span_id = $trace.parent_span_id().map(tracing::field::display),
            toolhost.caller_trace_id = $trace.caller_trace_id(),
            toolhost.duration_ms = Empty,
            error.type = Empty,
            otel.status_description = Empty,
            $($field)*
        )
    };
}

/// Creates the span of a turn (`invoke_agent`).
pub(super) fn turn(emitter: &Emitter, subject: &Subject, trace: &TraceContext) -> Span {
    span!(
        Span::current().id(), "turn", emitter, subject, trace,
        otel.name = %format_args!("invoke_agent {}", emitter.agent_name()),
        gen_ai.operation.name = "invoke_agent",
    )
}

/// Creates the span of a step.
pub(super) fn step(
    parent: &Span,
    emitter: &Emitter,
    subject: &Subject,
    trace: &TraceContext,
) -> Span {
    span!(
        parent.id(), "step", emitter, subject, trace,
        otel.name = %format_args!("step {}", emitter.agent_name()),
    )
}

/// Creates the span of a call (`execute_tool`).
pub(super) fn call(
    parent: &Span,
    emitter: &Emitter,
    subject: &Subject,
    trace: &TraceContext,
) -> Span {
    span!(
        parent.id(), "tool.call", emitter, subject, trace,
        otel.name = %format_args!("execute_tool {}", tool(subject)),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool(subject),
        gen_ai.tool.call.id = subject.tool_call_id.as_deref(),
        gen_ai.tool.type = "function",
        toolhost.status = Empty,
        toolhost.wall_ms = Empty,
        toolhost.queued_ms = Empty,
        toolhost.memory_peak_bytes = Empty,
        toolhost.output_bytes = Empty,
    )
}

/// Creates the span of the end of a background call. It has no length and is in the trace of the call.
pub(super) fn settled(emitter: &Emitter, subject: &Subject, trace: &TraceContext) -> Span {
    span!(
        Span::current().id(), "tool.settled", emitter, subject, trace,
        otel.name = %format_args!("settle_tool {}", tool(subject)),
        gen_ai.tool.name = tool(subject),
        gen_ai.tool.call.id = subject.tool_call_id.as_deref(),
        toolhost.status = Empty,
        toolhost.wall_ms = Empty,
        toolhost.queued_ms = Empty,
        toolhost.memory_peak_bytes = Empty,
        toolhost.output_bytes = Empty,
    )
}

/// Records the outcome in a span. OpenTelemetry's status stays unset on success.
pub(super) fn ended(span: &Span, ending: &Ending) {
    if span.is_disabled() {
        return;
    }
    if let Some(duration) = ending.duration {
        span.record("toolhost.duration_ms", milliseconds(duration));
    }
    if let Some(error) = &ending.error {
        span.record("error.type", &*error.code);
        span.record("otel.status_description", &*error.message);
    }
    // Only the spans of calls have these fields.
    if let Some(usage) = &ending.usage {
        span.record("toolhost.status", tracing::field::debug(ending.status));
        span.record("toolhost.wall_ms", milliseconds(usage.wall));
        span.record("toolhost.queued_ms", milliseconds(usage.queued));
        span.record("toolhost.memory_peak_bytes", usage.memory_peak);
        span.record("toolhost.output_bytes", usage.output_bytes);
    }
}

fn tool(subject: &Subject) -> &str {
    subject.tool_name.as_deref().unwrap_or_default()
}
