//! Trace ids and span ids, as in W3C Trace Context.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::{NonZeroU64, NonZeroU128};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::bounded::bounded_id;

/// Id of a trace: 32 lower-case hex digits, never all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(NonZeroU128);

/// Id of a span: 16 lower-case hex digits, never all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(NonZeroU64);

impl TraceId {
    /// Parses 32 hex digits of either case. Returns `None` for any other text and for all zeros.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = digits.then(|| u128::from_str_radix(text, 16).ok())??;
        NonZeroU128::new(number).map(Self)
    }

    /// Returns the id as a number (big-endian).
    #[must_use]
    pub fn get(self) -> u128 {
        self.0.get()
    }

    fn random() -> Self {
        let [high, low] = random();
        let number = u128::from(high) << 64 | u128::from(low);
        Self(NonZeroU128::new(number).unwrap_or(NonZeroU128::MIN))
    }

    /// Derives an id from a text: the first 16 bytes of its SHA-256.
    fn of_text(text: &str) -> Self {
        let mut number = 0_u128;
        for byte in Sha256::digest(text.as_bytes()).iter().take(16) {
            number = number << 8 | u128::from(*byte);
        }
        Self(NonZeroU128::new(number).unwrap_or(NonZeroU128::MIN))
    }
}

impl SpanId {
    /// Parses 16 hex digits of either case. Returns `None` for any other text and for all zeros.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = digits.then(|| u64::from_str_radix(text, 16).ok())??;
        NonZeroU64::new(number).map(Self)
    }

    /// Returns the id as a number (big-endian).
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    fn random() -> Self {
        let [number, _] = random();
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for SpanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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
    #[must_use]
    pub fn root(caller: Option<&str>) -> Self {
        let caller = caller.filter(|text| !text.is_empty());
        let parent = caller.and_then(traceparent);
        let known = parent.map(|(trace_id, _)| trace_id);
        let known = known.or_else(|| caller.and_then(TraceId::parse));
        let foreign = caller.filter(|_| known.is_none());
        Self {
            trace_id: known
                .or_else(|| foreign.map(TraceId::of_text))
                .unwrap_or_else(TraceId::random),
            span_id: SpanId::random(),
            parent_span_id: parent.map(|(_, span_id)| span_id),
            caller_trace_id: foreign.map(bounded_id),
        }
    }

    /// Starts a child span.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            trace_id: self.trace_id,
            span_id: SpanId::random(),
            parent_span_id: Some(self.span_id),
            caller_trace_id: self.caller_trace_id.clone(),
        }
    }

    /// Returns the id of the trace.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.trace_id
    }

    /// Returns the id of this span.
    #[must_use]
    pub fn span_id(&self) -> SpanId {
        self.span_id
    }

    /// Returns the id of the parent span, which may be the caller's.
    #[must_use]
    pub fn parent_span_id(&self) -> Option<SpanId> {
        self.parent_span_id
    }

    /// Returns the caller's text for the trace if it is not a trace id.
    #[must_use]
    pub fn caller_trace_id(&self) -> Option<&str> {
        self.caller_trace_id.as_deref()
    }

    /// Returns the `traceparent` header of this span: `00-{trace id}-{span id}-01`.
    /// [`Self::root`] continues the trace from it, also in another process or after a restart.
    #[must_use]
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

/// Returns two random numbers, unique in this process: a counter mixed by SplitMix64.
///
/// The seeds come from the operating system. Ids are not secret, so no secure generator is needed.
fn random() -> [u64; 2] {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    static SEEDS: OnceLock<[u64; 2]> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let seeds = SEEDS.get_or_init(|| [0_u8, 1].map(|which| RandomState::new().hash_one(which)));
    let at = COUNT.fetch_add(1, Relaxed).wrapping_mul(STEP);
    seeds.map(|seed| mix(seed.wrapping_add(at)))
}

/// The output function of SplitMix64; a bijection.
fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
