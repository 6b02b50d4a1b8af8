//! What the server counts, as text for Prometheus. docs/mcp.md lists the names.

mod calls;
mod sandbox;

use std::fmt::Write;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use toolhost::{Sandbox, ToolResult};

pub(crate) use calls::CountedCall;
use calls::{CallMetrics, code_of};
use sandbox::SandboxMetrics;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    /// As that of a call.
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

/// The metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    calls: CallMetrics,
    polls: Family<CodeLabels, Counter>,
    calls_refused: Counter,
    requests_refused: Family<StatusLabels, Counter>,
    connections_failed: Family<ReasonLabels, Counter>,
    sessions_opened: Counter,
    in_flight: Gauge,
    sessions: Gauge,
}

impl Metrics {
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("toolhost"),
            calls: CallMetrics::default(),
            polls: Family::default(),
            calls_refused: Counter::default(),
            requests_refused: Family::default(),
            connections_failed: Family::default(),
            sessions_opened: Counter::default(),
            in_flight: Gauge::default(),
            sessions: Gauge::default(),
        };
        metrics.register();
        let sandbox = Box::new(SandboxMetrics(sandbox));
        metrics.registry.register_collector(sandbox);
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        self.calls.register(registry);
        let help = "Polls of pending calls by code";
        registry.register("polls", help, self.polls.clone());
        let help = "Calls and polls that were refused because too many run or the server stops";
        registry.register("calls_refused", help, self.calls_refused.clone());
        let help = "HTTP requests that were refused, by status";
        registry.register("http_refused", help, self.requests_refused.clone());
        let help = "HTTP connections that ended with an error, by reason";
        registry.register(
            "http_connections_failed",
            help,
            self.connections_failed.clone(),
        );
        let help = "Sessions that clients opened with initialize";
        registry.register("sessions_opened", help, self.sessions_opened.clone());
        let help = "Calls of clients that run or wait";
        registry.register("calls_in_flight", help, self.in_flight.clone());
        let help = "Sessions of clients with initialize";
        registry.register("sessions", help, self.sessions.clone());
    }

    /// Begins to measure a call. `tool` is empty if the tool is not in the catalog.
    pub(crate) fn begin_call(&self, tool: &str) -> CountedCall<'_> {
        self.calls.begin(tool)
    }

    /// Counts a poll.
    pub(crate) fn count_poll(&self, result: &ToolResult) {
        let code = code_of(result);
        self.polls.get_or_create(&CodeLabels { code }).inc();
    }

    /// Counts a call or a poll that is not admitted.
    pub(crate) fn count_refused_call(&self) {
        self.calls_refused.inc();
    }

    /// Counts an HTTP request that was refused.
    pub(crate) fn count_refused(&self, status: u16) {
        let labels = StatusLabels { status };
        self.requests_refused.get_or_create(&labels).inc();
    }

    /// Counts an HTTP connection that ended with an error.
    pub(crate) fn count_failed_connection(&self, reason: &'static str) {
        let labels = ReasonLabels { reason };
        self.connections_failed.get_or_create(&labels).inc();
    }

    /// Counts a session that was opened.
    pub(crate) fn count_session(&self) {
        self.sessions_opened.inc();
    }

    /// Returns the text for Prometheus.
    pub(crate) fn text(&self, in_flight: usize, sessions: usize) -> String {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.in_flight.set(number(in_flight));
        self.sessions.set(number(sessions));
        let mut text = String::new();
        // It cannot fail: a String takes what is written.
        if encode(&mut text, &self.registry).is_err() {
            let _is_written = text.write_str("# the metrics cannot be written\n").is_ok();
        }
        text
    }
}
