//! Measures a call of a tool in each language: time, throughput and page faults.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost::{Host, Step, ToolCall, Workdir};
use toolhost_tests::process_usage::page_faults;
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use crate::measure::{call, calls_for, median};

/// Concurrent calls.
const IN_FLIGHT: [usize; 3] = [1, 4, 16];

/// Time of one measurement in a round.
const ROUND: Duration = Duration::from_millis(250);

/// Rounds. The numbers of concurrent calls alternate, so that noise affects all of them.
const ROUNDS: usize = 7;

/// A tool of the examples and a typical call.
pub(crate) struct Example {
    language: &'static str,
    pub(crate) bundle: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) args: Value,
}

pub(crate) fn examples() -> [Example; 5] {
    let example = |language, bundle, tool, args| Example {
        language,
        bundle,
        tool,
        args,
    };
    let hello = json!({"text": "hello", "n": 1});
    let file = json!({"path": "f.csv"});
    let written = json!({"path": "written.txt", "content": "some text of a file\n".repeat(205)});
    let text = json!({"text": "some text ".repeat(20), "find": "text", "with": "words"});
    let count = json!({"path": "f.csv", "by": "kind"});
    [
        example("Rust", ".", "echo__say", hello),
        example("Rust", ".", "file-system__read", file),
        example("Rust", ".", "file-system__write", written),
        example(
            "TypeScript",
            "typescript/text-transform",
            "text-transform__replace",
            text,
        ),
        example("Python", "python/csv-stats", "csv-stats__count", count),
    ]
}

/// The measurement for one number of concurrent calls.
struct Measured {
    micros: f64,
    per_second: f64,
    faults: f64,
}

/// Calls for the time of a round.
fn round(runtime: &Runtime, step: &Arc<Step>, call: &ToolCall, in_flight: usize) -> Measured {
    let faults = page_faults();
    let (calls, took) = calls_for(ROUND, runtime, step, call, in_flight);
    let took = took.as_secs_f64();
    Measured {
        micros: took * 1e6 / calls,
        per_second: calls / took,
        faults: (page_faults() - faults) as f64 / calls,
    }
}

/// One row of the table, or why there is none.
fn row(runtime: &Runtime, example: &Example, host: &Host, workdir: &Workdir) -> String {
    let bundle = root("guest-examples").join(example.bundle);
    let loaded = match runtime.block_on(host.load(&bundle)) {
        Ok(loaded) => loaded,
        Err(error) => return format!("not measured: {error}"),
    };
    let agent = loaded.only_agent().unwrap();
    let step = Arc::new(runtime.block_on(open_step(&agent, "bench", workdir)));
    let call = call(example.tool, example.args.clone());
    for in_flight in IN_FLIGHT {
        round(runtime, &step, &call, in_flight);
    }
    let mut rounds: [Vec<Measured>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (in_flight, measured) in IN_FLIGHT.into_iter().zip(&mut rounds) {
            measured.push(round(runtime, &step, &call, in_flight));
        }
    }
    let of = |at_once: usize, value: fn(&Measured) -> f64| {
        median(rounds[at_once].iter().map(value).collect())
    };
    format!(
        "{:>9.1} µs   {:.0} · {:.0} · {:.0} calls/s   {:.1} · {:.1} · {:.1} faults",
        of(0, |it| it.micros),
        of(0, |it| it.per_second),
        of(1, |it| it.per_second),
        of(2, |it| it.per_second),
        of(0, |it| it.faults),
        of(1, |it| it.faults),
        of(2, |it| it.faults),
    )
}

/// Writes the file that examples read.
pub(crate) fn write_rows(work: &Path) {
    let rows = (0..500).map(|row| format!("{row},kind-{}\n", row % 7));
    let csv = format!("n,kind\n{}", rows.collect::<String>());
    std::fs::write(work.join("f.csv"), csv).unwrap();
}

/// Prints a row for each example, or for those whose tool has this in its name.
pub(crate) fn print(runtime: &Runtime, work: &Path, only: Option<&String>) {
    write_rows(work);
    let host = Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .build()
        .unwrap();
    let workdir = host.workdir(work).unwrap();
    println!("a call in each language, and with 1 · 4 · 16 in flight");
    let wanted = |example: &Example| only.is_none_or(|name| example.tool.contains(name));
    for example in examples().into_iter().filter(wanted) {
        let row = row(runtime, &example, &host, &workdir);
        println!("  {:<10} {:<24} {row}", example.language, example.tool);
    }
}
