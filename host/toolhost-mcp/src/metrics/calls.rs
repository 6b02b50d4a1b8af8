//! Counts calls by tool and code, and their durations. A call is counted when it ends, however it ends.

use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use toolhost::{ErrorCode, ToolResult};

/// Upper bounds of the durations that are counted, in seconds.
const DURATIONS: [f64; 9] = [0.000_1, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0];

/// The label of an error whose code the tool chose: such codes are not used as labels.
const OWN_CODE: &str = "handler";

/// The code of a call that its client cancelled, or whose client left.
const CANCELLED: &str = "cancelled";

/// The code of a call that a middleware of the turn or the step ended.
const REFUSED: &str = "refused";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    /// Empty for a name outside the catalog.
    tool: String,
    /// `ok`, `pending`, the code of the host's error, `handler`, `cancelled` or `refused`.
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: String,
}

/// Calls that have ended.
pub(super) struct CallMetrics {
    calls: Family<CallLabels, Counter>,
    durations: Family<ToolLabels, Histogram, fn() -> Histogram>,
}

impl Default for CallMetrics {
    fn default() -> Self {
        Self {
            calls: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATIONS)),
        }
    }
}

impl CallMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("calls", "Calls by tool and code", self.calls.clone());
        let help = "Time of calls by tool, in seconds";
        registry.register("call_duration_seconds", help, self.durations.clone());
    }

    /// Begins a call. `tool` is empty if the tool is not in the catalog: names that clients choose are no
    /// labels.
    pub(super) fn begin(&self, tool: &str) -> CountedCall<'_> {
        CountedCall {
            metrics: self,
            tool: tool.to_owned(),
            started: Instant::now(),
            code: CANCELLED,
        }
    }
}

/// A call that runs. If it is dropped before its end, it counts as cancelled.
pub(crate) struct CountedCall<'a> {
    metrics: &'a CallMetrics,
    tool: String,
    started: Instant,
    code: &'static str,
}

impl CountedCall<'_> {
    /// Counts the call by its result, or as refused.
    pub(crate) fn end<E>(mut self, result: Result<&ToolResult, E>) {
        self.code = result.map_or(REFUSED, code_of);
    }
}

impl Drop for CountedCall<'_> {
    fn drop(&mut self) {
        let tool = std::mem::take(&mut self.tool);
        let took = self.started.elapsed().as_secs_f64();
        let labels = ToolLabels { tool: tool.clone() };
        self.metrics.durations.get_or_create(&labels).observe(took);
        let code = self.code;
        let labels = CallLabels { tool, code };
        self.metrics.calls.get_or_create(&labels).inc();
    }
}

/// Returns the label of a result.
pub(super) fn code_of(result: &ToolResult) -> &'static str {
    match result.tool_error().map(|error| &error.code) {
        Some(ErrorCode::Host(code)) => code.as_str(),
        Some(ErrorCode::Handler(_)) => OWN_CODE,
        None => result.status().as_str(),
    }
}
