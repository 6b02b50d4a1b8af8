//! Gives exported spans the ids that toolhost's spans have in their attributes.
//!
//! The SDK asks an id generator when a span is built. [`IdTracer`] reads the ids from the attributes into
//! a thread-local, from which [`SpanIds`] returns them in the same call.

use std::cell::Cell;

use opentelemetry::trace::{
    Link, SpanBuilder, SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState,
    Tracer,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer, Span};

thread_local! {
    /// Ids of the span that is being built on this thread.
    static NEXT: Cell<Option<(TraceId, SpanId)>> = const { Cell::new(None) };
}

/// Returns the ids in [`NEXT`], or random ones.
#[derive(Debug, Default)]
pub(super) struct SpanIds(RandomIdGenerator);

impl IdGenerator for SpanIds {
    fn new_trace_id(&self) -> TraceId {
        NEXT.get()
            .map_or_else(|| self.0.new_trace_id(), |(id, _)| id)
    }

    fn new_span_id(&self) -> SpanId {
        NEXT.get()
            .map_or_else(|| self.0.new_span_id(), |(_, id)| id)
    }
}

/// A tracer that builds spans with the ids of their attributes.
#[derive(Debug, Clone)]
pub(super) struct IdTracer(pub(super) SdkTracer);

/// The ids that `toolhost::events` writes into a span's attributes.
struct Ids {
    trace_id: TraceId,
    span_id: SpanId,
    parent_id: Option<SpanId>,
}

impl Tracer for IdTracer {
    type Span = Span;

    fn build_with_context(&self, mut builder: SpanBuilder, around: &Context) -> Span {
        let ids = builder.attributes.as_mut().and_then(Ids::take);
        let Some(ids) = ids else {
            return self.0.build_with_context(builder, around);
        };
        let context = ids.parent(&mut builder, around);
        NEXT.set(Some((ids.trace_id, ids.span_id)));
        let span = self.0.build_with_context(builder, &context);
        NEXT.set(None);
        span
    }
}

impl Ids {
    /// Removes the ids from the attributes.
    fn take(attributes: &mut Vec<KeyValue>) -> Option<Self> {
        let find = |name: &str| {
            let attribute = attributes.iter().find(|a| a.key.as_str() == name)?;
            let Value::String(text) = &attribute.value else {
                return None;
            };
            Some(text.as_str().to_owned())
        };
        let span_id = |text: String| SpanId::from_hex(&text).ok();
        let ids = Self {
            trace_id: TraceId::from_hex(&find("toolhost.trace_id")?).ok()?,
            span_id: span_id(find("toolhost.span_id")?)?,
            parent_id: find("toolhost.parent_span_id").and_then(span_id),
        };
        attributes.retain(|a| {
            !matches!(
                a.key.as_str(),
                "toolhost.trace_id" | "toolhost.span_id" | "toolhost.parent_span_id"
            )
        });
        Some(ids)
    }

    /// Returns the context of the parent in these ids: the surrounding span or a remote one. A surrounding
    /// span that is not the parent is added as a link.
    fn parent(&self, builder: &mut SpanBuilder, around: &Context) -> Context {
        let surrounding = around.span().span_context().clone();
        let is_parent = surrounding.trace_id() == self.trace_id
            && Some(surrounding.span_id()) == self.parent_id;
        if is_parent || around.is_telemetry_suppressed() {
            return around.clone();
        }
        if surrounding.is_valid() {
            let link = Link::new(surrounding, Vec::new(), 0);
            builder.links.get_or_insert_default().push(link);
        }
        let Some(parent_id) = self.parent_id else {
            // Not `around` with an invalid span context, which a sampler would take for a parent.
            return Context::new();
        };
        let (flags, state) = (TraceFlags::SAMPLED, TraceState::default());
        let parent = SpanContext::new(self.trace_id, parent_id, flags, true, state);
        around.with_remote_span_context(parent)
    }
}
