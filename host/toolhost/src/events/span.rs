//! `tracing` spans of target `toolhost::call`, level INFO: turn ▶ step ▶ tool.call.
//!
//! Fields follow OpenTelemetry's semantic conventions where there are some (`gen_ai.*`,
//! `error.type`); the others begin with `toolhost.`. A span that nobody wants costs a few
//! nanoseconds: its fields are not looked at.

use tracing::{Span, field::Empty, info_span};

use super::activity::Ending;
use super::emitter::{Emitter, Subject, milliseconds};
use super::trace::TraceContext;

/// Makes a span; all have the same fields of whose they are and how they ended.
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

/// Of `invoke_agent`: one input, until there is an answer.
pub(super) fn turn(emitter: &Emitter, subject: &Subject, trace: &TraceContext) -> Span {
    span!(
        Span::current().id(), "turn", emitter, subject, trace,
        otel.name = %format_args!("invoke_agent {}", emitter.agent_name()),
        gen_ai.operation.name = "invoke_agent",
    )
}

/// One round of an agent: what a model is shown and what it calls.
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

/// Of `execute_tool`.
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

/// The end of a call that was accepted earlier: a moment, in the trace of the call.
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

/// Writes into a span how it ended. OpenTelemetry's status stays unset where it ended well.
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
    // Turns and steps have no such fields: then these do nothing.
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
