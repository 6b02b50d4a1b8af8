//! Measures calls with and without spare instances, alternately, and the engine alone beside them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use toolhost::{AssistantMessage, Host, Sandbox, Step, ToolCall, ToolStatus};
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use crate::languages::{Example, examples, write_rows};
use crate::measure::{call, calls_for, median};

/// Spare instances of each component, where there are any.
pub(crate) const SPARE_INSTANCES: u32 = 8;

/// Concurrent calls.
const IN_FLIGHT: [usize; 2] = [1, 16];

/// Time of one measurement in a round.
const ROUND: Duration = Duration::from_millis(100);

/// Rounds. Both settings alternate, so that noise affects both.
const ROUNDS: usize = 31;

/// What the measurements share.
pub(crate) struct Shared<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) work: &'a Path,
    /// Runs an echo in the engine alone.
    pub(crate) engine_alone: &'a dyn Fn(),
}

/// An example in a host with or without spare instances.
struct Setting {
    sandbox: Sandbox,
    step: Arc<Step>,
    call: ToolCall,
}

impl Setting {
    fn new(shared: &Shared<'_>, example: &Example, spare_instances: u32) -> Result<Self, String> {
        let sandbox = own_sandbox(|config| config.spare_instances = spare_instances);
        let host = Host::builder().sandbox(sandbox.clone()).build().unwrap();
        let bundle = root("guest-examples").join(example.bundle);
        let loaded = shared.runtime.block_on(host.load(&bundle));
        let agent = loaded
            .map_err(|error| error.to_string())?
            .only_agent()
            .unwrap();
        let workdir = host.workdir(shared.work).unwrap();
        let step = shared
            .runtime
            .block_on(open_step(&agent, "bench", &workdir));
        Ok(Self {
            sandbox,
            step: Arc::new(step),
            call: call(example.tool, example.args.clone()),
        })
    }

    /// Returns microseconds per call, over all concurrent calls.
    fn micros(&self, shared: &Shared<'_>, in_flight: usize) -> f64 {
        let (calls, took) = calls_for(ROUND, shared.runtime, &self.step, &self.call, in_flight);
        took.as_secs_f64() * 1e6 / calls
    }

    /// Returns microseconds of processor time that the caller's thread takes for a call.
    fn thread_micros(&self, shared: &Shared<'_>) -> f64 {
        shared.runtime.block_on(async {
            let message = AssistantMessage::for_call(&self.call);
            let (before, started, mut calls) = (thread_time(), Instant::now(), 0_u64);
            while started.elapsed() < ROUND {
                let result = self.step.execute(self.call.clone(), &message).await;
                assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
                calls += 1;
            }
            (thread_time() - before) * 1e6 / calls as f64
        })
    }
}

/// Seconds of processor time that this thread has taken.
fn thread_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanos: f64 = stat.split(' ').next().unwrap().parse().unwrap();
    nanos / 1e9
}

/// The engine alone, in microseconds per call.
fn engine_alone(shared: &Shared<'_>) -> f64 {
    let (started, mut calls) = (Instant::now(), 0_u64);
    while started.elapsed() < ROUND {
        (shared.engine_alone)();
        calls += 1;
    }
    started.elapsed().as_secs_f64() * 1e6 / calls as f64
}

/// Prints how calls with spare instances compare to calls without. `spare_instances` is how many each
/// component has at most.
pub(crate) fn print(shared: &Shared<'_>, spare_instances: Option<&String>) {
    let spare_instances = spare_instances.map_or(SPARE_INSTANCES, |word| word.parse().unwrap());
    write_rows(shared.work);
    println!("calls with {spare_instances} spare instances, beside calls without");
    for example in examples() {
        let make = |spares| Setting::new(shared, &example, spares);
        match (make(0), make(spare_instances)) {
            (Ok(without), Ok(with)) => compare(shared, &example, &without, &with),
            (Err(error), _) | (_, Err(error)) => {
                println!("  {:<24} not measured: {error}", example.tool);
            }
        }
    }
}

fn compare(shared: &Shared<'_>, example: &Example, without: &Setting, with: &Setting) {
    for in_flight in IN_FLIGHT {
        let (mut plain, mut spare, mut engine) = (vec![], vec![], vec![]);
        let used = with.sandbox.spare_instances().used;
        let mut calls = 0.0;
        for _ in 0..ROUNDS {
            plain.push(without.micros(shared, in_flight));
            spare.push(with.micros(shared, in_flight));
            engine.push(engine_alone(shared));
            calls += ROUND.as_secs_f64() * 1e6 / spare.last().unwrap();
        }
        let used = with.sandbox.spare_instances().used - used;
        println!(
            "  {:<24} {in_flight:>2} in flight   {}   ({:.0} % of the calls found one)",
            example.tool,
            ratio(&spare, &plain),
            used as f64 * 100.0 / calls,
        );
        if example.tool == "echo__say" && in_flight == 1 {
            println!(
                "  … / an echo of the engine alone         {}",
                ratio(&spare, &engine)
            );
        }
    }
    let micros = |_| (with.thread_micros(shared), without.thread_micros(shared));
    let (with, without): (Vec<_>, Vec<_>) = (0..ROUNDS).map(micros).unzip();
    println!(
        "  … processor time of the caller's thread {}",
        ratio(&with, &without)
    );
}

/// Describes the medians of two measurements, and that of the ratios of each round.
fn ratio(values: &[f64], others: &[f64]) -> String {
    let ratios = values
        .iter()
        .zip(others)
        .map(|(value, other)| value / other);
    let ratio = median(ratios.collect());
    let (value, other) = (median(values.to_vec()), median(others.to_vec()));
    format!("{value:>8.1} µs / {other:>8.1} µs = {ratio:.2}")
}
