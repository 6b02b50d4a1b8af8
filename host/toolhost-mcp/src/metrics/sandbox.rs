//! What the sandbox counts, read when the metrics are.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use toolhost::Sandbox;
use toolhost_runtime::debug_fields;

/// Reads the counters of a sandbox.
pub(super) struct SandboxMetrics(pub(super) Sandbox);

debug_fields!(SandboxMetrics);

impl Collector for SandboxMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut write =
            |name: &str, help: &str, metric: &dyn Written| metric.write(&mut encoder, name, help);
        let sandbox = &self.0;
        let gauge = |count: usize| ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
        let waiting = gauge(sandbox.waiting_calls());
        let help = "Calls that wait for a slot of the sandbox";
        write("calls_waiting", help, &waiting)?;
        let help = "Calls that wait for other agents";
        write("calls_parked", help, &gauge(sandbox.parked_calls()))?;
        let memory = i64::try_from(sandbox.memory_in_use()).unwrap_or(i64::MAX);
        let help = "Memory of the calls that run";
        write("memory_bytes", help, &ConstGauge::new(memory))?;
        let prepared = sandbox.prepared_count();
        let counters = [
            (
                "components_compiled",
                "Components that were compiled",
                prepared.compiled,
            ),
            (
                "components_cached",
                "Components that were taken from the cache",
                prepared.cached,
            ),
            (
                "components_reused",
                "Components that a reload took from the earlier load",
                prepared.reused,
            ),
            (
                "components_failed",
                "Components that could not be loaded",
                prepared.failed,
            ),
        ];
        for (name, help, count) in counters {
            write(name, help, &ConstCounter::new(count))?;
        }
        let seconds = ConstCounter::new(prepared.compile_time.as_secs_f64());
        write("compile_seconds", "Time that compiling took", &seconds)
    }
}

/// A metric that can be written.
trait Written {
    fn write(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> fmt::Result;
}

impl<T: EncodeMetric> Written for T {
    fn write(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> fmt::Result {
        let encoder = encoder.encode_descriptor(name, help, None, self.metric_type())?;
        self.encode(encoder)
    }
}
