//! Trace ids and span ids, as in W3C Trace Context.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::num::NonZero;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::bounded::bounded_id;

/// Defines the type of an id.
macro_rules! id {
    ($id:ident, $number:ty, $digits:literal, $what:literal) => {
        #[doc = concat!("Id of a ", $what, ": ", $digits, " lower-case hex digits, never all zero.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $id(NonZero<$number>);

        impl $id {
            #[doc = concat!("Parses ", $digits, " hex digits of either case. Returns `None` for any")]
            /// other text and for all zeros.
            pub fn parse(text: &str) -> Option<Self> {
                let digits = text.len() == $digits && text.bytes().all(|b| b.is_ascii_hexdigit());
                let number = digits.then(|| <$number>::from_str_radix(text, 16).ok())??;
                NonZero::new(number).map(Self)
            }

            /// Returns the id as a number (big-endian).
            #[must_use]
            pub fn get(self) -> $number {
                self.0.get()
            }

            fn of(number: $number) -> Self {
                Self(NonZero::new(number).unwrap_or(NonZero::<$number>::MIN))
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:0width$x}", self.0, width = $digits)
            }
        }

        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

id!(TraceId, u128, 32, "trace");
id!(SpanId, u64, 16, "span");

impl TraceId {
    fn random() -> Self {
        Self::of(u128::from(random()) << 64 | u128::from(random()))
    }

    /// Derives an id from a text: the first 16 bytes of its SHA-256.
    fn of_text(text: &str) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let first = digest.iter().take(16);
        Self::of(first.fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }
}

impl SpanId {
    fn random() -> Self {
        Self::of(random())
    }
}

/// Trace, span and parent span. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: TraceId,
    span_id: SpanId,
    parent_span_id: Option<SpanId>,
    caller_trace_id: Option<Arc<str>>,
}

impl TraceContext {
    /// Starts a span without a parent in this process.
    ///
    /// `caller` selects the trace:
    ///
    /// - a trace id (32 hex digits, not all zero) is used as it is;
    /// - of a `traceparent` header, the trace id is used and the span becomes the parent;
    /// - from any other text the trace id is derived, so equal texts give the same trace, and the text
    ///   is kept as [`Self::caller_trace_id`];
    /// - without a text, a random trace id is created.
    pub fn root(caller: Option<&str>) -> Self {
        let caller = caller.filter(|text| !text.is_empty());
        let parent = caller.and_then(traceparent);
        let inherited = parent.map(|(trace_id, _)| trace_id);
        let inherited = inherited.or_else(|| caller.and_then(TraceId::parse));
        let foreign = caller.filter(|_| inherited.is_none());
        Self {
            trace_id: inherited
                .or_else(|| foreign.map(TraceId::of_text))
                .unwrap_or_else(TraceId::random),
            span_id: SpanId::random(),
            parent_span_id: parent.map(|(_, span_id)| span_id),
            caller_trace_id: foreign.map(bounded_id),
        }
    }

    /// Starts a child span.
    pub fn child(&self) -> Self {
        Self {
            trace_id: self.trace_id,
            span_id: SpanId::random(),
            parent_span_id: Some(self.span_id),
            caller_trace_id: self.caller_trace_id.clone(),
        }
    }

    /// Returns the id of the trace.
    pub fn trace_id(&self) -> TraceId {
        self.trace_id
    }

    /// Returns the id of this span.
    pub fn span_id(&self) -> SpanId {
        self.span_id
    }

    /// Returns the id of the parent span, which may be the caller's.
    pub fn parent_span_id(&self) -> Option<SpanId> {
        self.parent_span_id
    }

    /// Returns the caller's text for the trace if it is not a trace id.
    pub fn caller_trace_id(&self) -> Option<&str> {
        self.caller_trace_id.as_deref()
    }

    /// Returns the `traceparent` header of this span: `00-{trace id}-{span id}-01`.
    /// [`Self::root`] continues the trace from it, also in another process or after a restart.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace_id, self.span_id)
    }
}

/// Parses a `traceparent` header. Later versions may append fields; version `ff` is invalid.
///
/// The flags are ignored: the operator configures sampling.
///
/// Spec: W3C Trace Context §3.2, §4.3.
fn traceparent(text: &str) -> Option<(TraceId, SpanId)> {
    let mut fields = text.split('-');
    let (version, trace_id, span_id, flags) = (
        fields.next()?,
        fields.next()?,
        fields.next()?,
        fields.next()?,
    );
    let byte = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let ends = fields.next().is_none() || version != "00";
    let formed = byte(version) && byte(flags) && !version.eq_ignore_ascii_case("ff") && ends;
    let ids = (TraceId::parse(trace_id)?, SpanId::parse(span_id)?);
    formed.then_some(ids)
}

/// Returns a random number. The standard library seeds its hashers from the operating system. Ids are
/// not secret, so no secure generator is needed.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
