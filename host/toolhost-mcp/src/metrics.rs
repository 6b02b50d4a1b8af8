//! What the server counts, as text for Prometheus.

use std::fmt::Write;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use toolhost::{ErrorCode, Sandbox, ToolResult};

/// Upper bounds of the durations that are counted, in seconds.
const DURATIONS: [f64; 9] = [0.000_1, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0];

/// The tool of a call to a name outside the catalog: names that clients choose are no labels.
const NO_TOOL: &str = "";

/// The code of an error whose code the tool chose: such codes are no labels either.
const OWN_CODE: &str = "handler";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: String,
    /// `ok`, `pending`, the code of the host's error, or `handler`.
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: u16,
}

/// The metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    durations: Family<ToolLabels, Histogram, fn() -> Histogram>,
    refused: Family<StatusLabels, Counter>,
    in_flight: Gauge,
    waiting: Gauge,
    parked: Gauge,
    memory: Gauge,
    sessions: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("toolhost");
        let durations: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(DURATIONS));
        let metrics = Self {
            calls: Family::default(),
            durations,
            refused: Family::default(),
            in_flight: Gauge::default(),
            waiting: Gauge::default(),
            parked: Gauge::default(),
            memory: Gauge::default(),
            sessions: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register("calls", "Calls by tool and code", metrics.calls.clone());
        let help = "Time of calls by tool, in seconds";
        registry.register("call_duration_seconds", help, metrics.durations.clone());
        let help = "HTTP requests that were refused, by status";
        registry.register("http_refused", help, metrics.refused.clone());
        let gauges = [
            (
                "calls_in_flight",
                "Calls of clients that run or wait",
                &metrics.in_flight,
            ),
            (
                "calls_waiting",
                "Calls that wait for a slot of the sandbox",
                &metrics.waiting,
            ),
            (
                "calls_parked",
                "Calls that wait for other agents",
                &metrics.parked,
            ),
            (
                "memory_bytes",
                "Memory of the calls that run",
                &metrics.memory,
            ),
            (
                "sessions",
                "Sessions of clients with initialize",
                &metrics.sessions,
            ),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        Self {
            registry,
            ..metrics
        }
    }

    /// Counts a call that has a result. `is_known` is whether its tool is in the catalog.
    pub(crate) fn count_call(&self, result: &ToolResult, is_known: bool, took: Duration) {
        let tool = if is_known {
            result.tool_name()
        } else {
            NO_TOOL
        };
        let code = match result.tool_error().map(|error| &error.code) {
            Some(ErrorCode::Host(code)) => code.as_str(),
            Some(ErrorCode::Handler(_)) => OWN_CODE,
            None => result.status().as_str(),
        };
        let tool = tool.to_owned();
        let labels = CallLabels {
            tool: tool.clone(),
            code: code.to_owned(),
        };
        self.calls.get_or_create(&labels).inc();
        let durations = self.durations.get_or_create(&ToolLabels { tool });
        durations.observe(took.as_secs_f64());
    }

    /// Counts an HTTP request that was refused.
    pub(crate) fn count_refused(&self, status: u16) {
        self.refused.get_or_create(&StatusLabels { status }).inc();
    }

    /// Returns the text for Prometheus.
    pub(crate) fn text(&self, sandbox: &Sandbox, in_flight: usize, sessions: usize) -> String {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.in_flight.set(number(in_flight));
        self.waiting.set(number(sandbox.waiting_calls()));
        self.parked.set(number(sandbox.parked_calls()));
        self.memory
            .set(i64::try_from(sandbox.memory_in_use()).unwrap_or(i64::MAX));
        self.sessions.set(number(sessions));
        let mut text = String::new();
        // It cannot fail: a String takes what is written.
        if encode(&mut text, &self.registry).is_err() {
            let _is_written = text.write_str("# the metrics cannot be written\n").is_ok();
        }
        text
    }
}
