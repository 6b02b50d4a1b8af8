//! `tracing` spans of target `toolhost::call`, level INFO: turn ▶ step ▶ tool.call.
//!
//! Fields follow OpenTelemetry's semantic conventions if there are any (`gen_ai.*`, `error.type`);
//! the others begin with `toolhost.`. The fields of a disabled span are not evaluated.

use std::time::Duration;

use tracing::{Span, field::Empty, info_span};

use super::event::RuntimeEvent;

/// Creates a span with the fields that all spans have.
macro_rules! span {
    ($parent:expr, $name:literal, $event:expr, $($field:tt)*) => {
        info_span!(
            target: "toolhost::call",
            parent: $parent,
            $name,
            otel.kind = "internal",
            gen_ai.agent.name = &*$event.agent_name,
            gen_ai.conversation.id = &*$event.instance_key,
            toolhost.turn_id = &*$event.turn_id,
            toolhost.step_id = $event.step_id.as_deref(),
            toolhost.trace_id = %$event.trace.trace_id(),
            toolhost.span_id = %$event.trace.span_id(),
            toolhost.parent_span_id = $event.trace.parent_span_id().map(tracing::field::display),
            toolhost.caller_trace_id = $event.trace.caller_trace_id(),
            toolhost.duration_ms = Empty,
            error.type = Empty,
            otel.status_description = Empty,
            $($field)*
        )
    };
}

/// Creates a span with the fields of a call.
macro_rules! call_span {
    ($parent:expr, $name:literal, $verb:literal, $event:expr, $($field:tt)*) => {
        span!(
            $parent, $name, $event,
            otel.name = %format_args!(concat!($verb, " {}"), tool($event)),
            gen_ai.tool.name = tool($event),
            gen_ai.tool.call.id = $event.tool_call_id.as_deref(),
            toolhost.status = Empty,
            toolhost.wall_ms = Empty,
            toolhost.queued_ms = Empty,
            toolhost.memory_peak_bytes = Empty,
            toolhost.output_bytes = Empty,
            $($field)*
        )
    };
}

/// Creates the span of a turn (`invoke_agent`).
pub(super) fn turn(event: &RuntimeEvent) -> Span {
    span!(
        Span::current().id(), "turn", event,
        otel.name = %format_args!("invoke_agent {}", event.agent_name),
        gen_ai.operation.name = "invoke_agent",
    )
}

pub(super) fn step(parent: &Span, event: &RuntimeEvent) -> Span {
    span!(
        parent.id(), "step", event,
        otel.name = %format_args!("step {}", event.agent_name),
    )
}

/// Creates the span of a call (`execute_tool`).
pub(super) fn call(parent: &Span, event: &RuntimeEvent) -> Span {
    call_span!(
        parent.id(), "tool.call", "execute_tool", event,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.type = "function",
    )
}

/// Creates the span of the end of a background call. It has no length and is in the trace of the call.
pub(super) fn settled(event: &RuntimeEvent) -> Span {
    call_span!(Span::current().id(), "tool.settled", "settle_tool", event,)
}

/// Records the outcome in a span. OpenTelemetry's status stays unset on success.
pub(super) fn ended(span: &Span, event: &RuntimeEvent) {
    if span.is_disabled() {
        return;
    }
    if let Some(duration) = event.duration_ms {
        span.record("toolhost.duration_ms", duration);
    }
    if let Some(error) = &event.error {
        span.record("error.type", &*error.code);
        span.record("otel.status_description", &*error.message);
    }
    // Only the spans of calls have these fields.
    if let (Some(status), Some(usage)) = (event.status, &event.usage) {
        span.record("toolhost.status", tracing::field::debug(status));
        span.record("toolhost.wall_ms", milliseconds(usage.wall));
        span.record("toolhost.queued_ms", milliseconds(usage.queued));
        span.record("toolhost.memory_peak_bytes", usage.memory_peak);
        span.record("toolhost.output_bytes", usage.output_bytes);
    }
}

fn tool(event: &RuntimeEvent) -> &str {
    event.tool_name.as_deref().unwrap_or_default()
}

/// Converts to milliseconds with a resolution of a microsecond.
pub(super) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
