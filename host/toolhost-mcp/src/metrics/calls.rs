//! Counts calls by tool and code, and their durations. A call is counted when it ends, however it ends.

use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use toolhost::tool::ToolCallsUsage;
use toolhost::{ErrorCode, ToolErrorCode, ToolResult, ToolStatus};

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
    inner: Family<CallLabels, Counter>,
}

impl Default for CallMetrics {
    fn default() -> Self {
        Self {
            calls: Family::default(),
            inner: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATIONS)),
        }
    }
}

impl CallMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("calls", "Calls by tool and code", self.calls.clone());
        let help = "Time of calls by tool, in seconds";
        registry.register("call_duration_seconds", help, self.durations.clone());
        let help = "Calls that calls made of other tools, by tool and code";
        registry.register("inner_calls", help, self.inner.clone());
    }

    /// Counts the calls that a call made. Those that its receipt does not list have no tool.
    fn count_inner(&self, calls: &ToolCallsUsage) {
        let count = |tool: &str, code, times| {
            let tool = tool.to_owned();
            let labels = CallLabels { tool, code };
            self.inner.get_or_create(&labels).inc_by(times);
        };
        let ok = ToolStatus::Ok.as_str();
        for call in &calls.calls {
            let host = |code: &String| ToolErrorCode::from_code(code).map(ToolErrorCode::as_str);
            let code = call.code.as_ref();
            let code = code.map_or(ok, |code| host(code).unwrap_or(OWN_CODE));
            count(&call.tool, code, 1);
        }
        let listed_failed = calls
            .calls
            .iter()
            .filter(|call| call.code.is_some())
            .count() as u64;
        let failed = calls.failed.saturating_sub(listed_failed);
        let unlisted = calls.count.saturating_sub(calls.calls.len() as u64);
        for (code, times) in [
            (ok, unlisted.saturating_sub(failed)),
            (ToolStatus::Error.as_str(), failed),
        ] {
            if times > 0 {
                count("", code, times);
            }
        }
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
        if let Ok(result) = &result
            && let Some(calls) = &result.usage().tool_calls
        {
            self.metrics.count_inner(calls);
        }
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
