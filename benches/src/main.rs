//! Measures calls beside the engine alone, front ends beside the library, starts, and resets of memory.
//!
//! Ratios compare measurements of one run; absolute times depend on the machine.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark"
)]

mod asks;
mod calls;
mod front_ends;
mod languages;
mod measure;
mod peers;
mod raw;
mod reset;
mod scripts;
mod shell;
mod starts;
mod tiers;
mod tokens;
mod tool_search;
mod transactions;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use measure::{call, host, median, workdir};
use raw::{Pool, Raw};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost::{AssistantMessage, Step, ToolCall, ToolStatus, Workdir};
use toolhost_tests::test_host::open_step;
use toolhost_tests::{guest, root};

/// Rounds of the paired measurement. Raw and execute alternate, so that noise affects both.
const ROUNDS: usize = 41;

/// Calls in one round.
const BATCH: u32 = 400;

struct Bench {
    runtime: Runtime,
    raw: Raw,
    step: Arc<Step>,
    work: tempfile::TempDir,
    workdir: Workdir,
    call: ToolCall,
    message: AssistantMessage,
    input: String,
}

/// The measured kind of call.
#[derive(Clone, Copy)]
enum Kind {
    Raw,
    Execute,
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Writes a bundle with `tools` Tools of one component, each with `exports` exports.
fn bundle(top: &Path, tools: usize, exports: usize) {
    std::fs::write(top.join("h.wasm"), guest("hundred_handlers")).unwrap();
    let mut text = String::new();
    for tool in 0..tools {
        text.push_str(&format!(
            "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: t{tool}}}\nspec:\n  entry: ./h.wasm\n  exports:\n"
        ));
        for export in 0..exports {
            text.push_str(&format!("    - name: h{export}\n"));
        }
        text.push_str("---\n");
    }
    std::fs::write(top.join("goondan.yaml"), text).unwrap();
}

impl Bench {
    fn new() -> Self {
        let runtime = runtime();
        let work = workdir();
        std::fs::write(work.path().join("f.txt"), "some text\n".repeat(100)).unwrap();
        let host = host(None);
        let workdir = host.workdir(work.path()).unwrap();
        let loaded = runtime.block_on(host.load(root("guest-examples"))).unwrap();
        let call = call("echo__say", json!({"text": "hello", "n": 1}));
        let agent = loaded.only_agent().unwrap();
        let step = runtime.block_on(open_step(&agent, "bench", &workdir));
        Self {
            raw: Raw::new(&guest("echo"), Pool::small()),
            step: Arc::new(step),
            runtime,
            work,
            workdir,
            message: AssistantMessage::for_call(&call),
            input: Value::Object(call.args.clone()).to_string(),
            call,
        }
    }

    async fn execute(&self) {
        let result = self.step.execute(self.call.clone(), &self.message).await;
        assert_eq!(result.status(), ToolStatus::Ok);
    }

    async fn raw_call(&self) {
        let (message, input) = (self.message.as_json(), &self.input);
        let output = self.raw.call(self.work.path(), "say", message, input).await;
        assert!(output.len() > 2);
    }

    async fn once(&self, kind: Kind) {
        match kind {
            Kind::Raw => self.raw_call().await,
            Kind::Execute => self.execute().await,
        }
    }
}

/// Measures raw and execute alternately; returns the ratio and both medians in microseconds.
fn paired(bench: &Bench) -> (f64, f64, f64) {
    let (mut raws, mut executes, mut ratios) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let (raw, execute) = bench.runtime.block_on(async {
            let started = Instant::now();
            for _ in 0..BATCH {
                bench.raw_call().await;
            }
            let raw = started.elapsed() / BATCH;
            let started = Instant::now();
            for _ in 0..BATCH {
                bench.execute().await;
            }
            (raw, started.elapsed() / BATCH)
        });
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        raws.push(micros(raw));
        executes.push(micros(execute));
        ratios.push(micros(execute) / micros(raw));
    }
    (median(ratios), median(raws), median(executes))
}

/// Returns the calls per second with `in_flight` concurrent calls, on two workers.
fn per_second(bench: &Arc<Bench>, kind: Kind, in_flight: usize, calls: usize) -> f64 {
    let each = calls / in_flight;
    bench.runtime.block_on(async {
        let started = Instant::now();
        let caller = |_| {
            let bench = Arc::clone(bench);
            tokio::spawn(async move {
                for _ in 0..each {
                    bench.once(kind).await;
                }
            })
        };
        let callers: Vec<_> = (0..in_flight).map(caller).collect();
        for caller in callers {
            caller.await.unwrap();
        }
        (each * in_flight) as f64 / started.elapsed().as_secs_f64()
    })
}

/// Opens a step of a host with `tools` Tools.
fn step_of(bench: &Bench, tools: usize, exports: usize) -> Step {
    let top = tempfile::tempdir().unwrap();
    bundle(top.path(), tools, exports);
    let host = host(None);
    let loaded = bench.runtime.block_on(host.load(top.path())).unwrap();
    let agent = loaded.only_agent().unwrap();
    bench
        .runtime
        .block_on(open_step(&agent, "bench", &bench.workdir))
}

/// Returns the ratio of an execute with 10,000 registered tools to one with a single tool.
fn registry(bench: &Bench) -> f64 {
    let (small, large) = (step_of(bench, 1, 1), step_of(bench, 100, 100));
    assert_eq!(large.catalog().items().len(), 10_000);
    let call = call("t0__h0", json!({"a": 1}));
    let message = AssistantMessage::for_call(&call);
    let time = |step: &Step| {
        bench.runtime.block_on(async {
            let started = Instant::now();
            for _ in 0..BATCH {
                let result = step.execute(call.clone(), &message).await;
                assert_eq!(result.status(), ToolStatus::Ok);
            }
            started.elapsed().as_secs_f64()
        })
    };
    let round = |_| {
        let small = time(&small);
        time(&large) / small
    };
    median((0..ROUNDS).map(round).collect())
}

/// Returns the largest delay of an answer after its deadline, beside other calls, in milliseconds.
fn lateness(bench: &Bench) -> f64 {
    let deadline = Duration::from_millis(100);
    bench.runtime.block_on(async {
        let tool = toolhost_tests::prepared("spin_forever").await;
        let others: Vec<_> = (0..16)
            .map(|_| {
                let step = Arc::clone(&bench.step);
                let (call, message) = (bench.call.clone(), bench.message.clone());
                tokio::spawn(async move {
                    loop {
                        step.execute(call.clone(), &message).await;
                    }
                })
            })
            .collect();
        let mut late = vec![];
        for _ in 0..20 {
            let mut call = toolhost_tests::invocation("run", &json!({}), None);
            call.limits.deadline = deadline;
            let started = Instant::now();
            let report = tool.call(call).await;
            assert!(report.outcome.is_err());
            late.push((started.elapsed() - deadline).as_secs_f64() * 1e3);
        }
        others.iter().for_each(tokio::task::JoinHandle::abort);
        late.into_iter().fold(0.0, f64::max)
    })
}

/// Returns the 99th percentile of the delay of a 1 ms timer of the embedder beside four spinning guests,
/// in milliseconds.
fn timer_beside_spinners() -> f64 {
    let embedder = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    embedder.block_on(async {
        let tool = toolhost_tests::prepared("spin_forever").await;
        let spinners: Vec<_> = (0..4)
            .map(|_| {
                let tool = tool.clone();
                tokio::spawn(async move {
                    tool.call(toolhost_tests::invocation("run", &json!({}), None))
                        .await
                })
            })
            .collect();
        let timer = tokio::spawn(async {
            let mut late = vec![];
            for _ in 0..1000 {
                let started = Instant::now();
                tokio::time::sleep(Duration::from_millis(1)).await;
                late.push(started.elapsed().as_secs_f64() * 1e3 - 1.0);
            }
            late.sort_by(f64::total_cmp);
            late[late.len() * 99 / 100]
        });
        let late = timer.await.unwrap();
        spinners.iter().for_each(tokio::task::JoinHandle::abort);
        late
    })
}

fn criterion(bench: &Bench) {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("call");
    group.throughput(Throughput::Elements(1));
    group.bench_function("raw", |b| {
        b.to_async(&bench.runtime).iter(|| bench.raw_call());
    });
    group.bench_function("execute", |b| {
        b.to_async(&bench.runtime).iter(|| bench.execute());
    });
    let read = call("file-system__read", json!({"path": "f.txt"}));
    let message = AssistantMessage::for_call(&read);
    group.bench_function("execute a file read", |b| {
        b.to_async(&bench.runtime).iter(|| async {
            let result = bench.step.execute(read.clone(), &message).await;
            assert_eq!(result.status(), ToolStatus::Ok);
        });
    });
    group.finish();
    criterion.final_summary();
}

/// The argument after which only calls under policies with `ask` are measured.
const ASKS: &str = "asks";

/// The argument after which only past calls are measured.
const CALLS: &str = "calls";

/// The argument after which only the front ends are measured.
const FRONT_ENDS: &str = "front-ends";

/// The argument after which only the tools of each language are measured.
const LANGUAGES: &str = "languages";

/// The argument after which only programs that call tools are measured: all, or those that the next one names. The one
/// after that is the number of rounds, such as for `perf`.
const SCRIPTS: &str = "scripts";

/// The argument after which only the tool `bash` is measured, beside processes of the machine's.
const SHELL: &str = "shell";

/// The argument after which only starts are measured: of all bundles, or of those that the next one names.
/// The one after that is a directory for their cache, which is kept.
const STARTS: &str = "starts";

/// The argument after which only what optimised code costs and gains is measured.
const TIERS: &str = "tiers";

/// The argument after which only the search of tools is measured.
const SEARCH: &str = "search";

/// The argument after which only the tokens of a model are counted.
const TOKENS: &str = "tokens";

/// The argument after which only transactional calls are measured, beside direct ones.
const TRANSACTIONS: &str = "transactions";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match measure(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Measures what the arguments name.
fn measure(arguments: &[String]) -> Result<(), String> {
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let after = |word: &str| {
        let mut words = arguments.iter();
        words.any(|argument| argument == word);
        words.as_slice()
    };
    if has(peers::SCALE) {
        return peers::print_scale(&runtime(), after(peers::SCALE).first());
    }
    if has(peers::ARGUMENT) {
        return peers::run(&runtime(), after(peers::ARGUMENT));
    }
    if has(front_ends::SERVE_MCP) {
        runtime().block_on(front_ends::serve_mcp());
        return Ok(());
    }
    if has(front_ends::SERVE_RPC) {
        runtime().block_on(front_ends::serve_rpc());
        return Ok(());
    }
    if has(ASKS) {
        asks::print(&runtime());
        return Ok(());
    }
    if has(CALLS) {
        calls::print(&runtime());
        return Ok(());
    }
    if has(FRONT_ENDS) {
        let work = tempfile::tempdir().unwrap();
        front_ends::print(&runtime(), work.path());
        return Ok(());
    }
    if has(LANGUAGES) {
        let work = workdir();
        languages::print(&runtime(), work.path(), after(LANGUAGES).first());
        return Ok(());
    }
    if has(SCRIPTS) {
        let work = workdir();
        let (name, rounds) = (after(SCRIPTS).first(), after(SCRIPTS).get(1));
        let rounds = rounds.map(|rounds| {
            rounds
                .parse::<usize>()
                .map_err(|_| "the rounds are no number")
        });
        scripts::print(&runtime(), work.path(), name, rounds.transpose()?);
        return Ok(());
    }
    if has(SHELL) {
        let (work, task) = (workdir(), shell::Task::parse(after(SHELL))?);
        shell::run(&runtime(), work.path(), &task);
        return Ok(());
    }
    if has(TOKENS) {
        return tokens::print(&runtime());
    }
    if has(TIERS) {
        let work = tempfile::tempdir().unwrap();
        tiers::print(&runtime(), work.path());
        return Ok(());
    }
    if has(SEARCH) {
        return tool_search::print();
    }
    if has(TRANSACTIONS) {
        transactions::print(&runtime());
        return Ok(());
    }
    if has(STARTS) {
        let word = |index: usize| after(STARTS).get(index).map(String::as_str);
        starts::print(&runtime(), word(0), word(1));
        return Ok(());
    }
    measure_all();
    Ok(())
}

fn measure_all() {
    let bench = Arc::new(Bench::new());
    criterion(&bench);
    let (ratio, raw, execute) = paired(&bench);
    println!("\nratios, of paired rounds within this run");
    println!("  execute / raw                {ratio:.2}   ({execute:.1} µs / {raw:.1} µs)");
    println!("  10,000 tools / 1 tool        {:.2}", registry(&bench));
    println!("throughput on two workers");
    for in_flight in [1, 16, 256] {
        let (execute, raw) = (Kind::Execute, Kind::Raw);
        println!(
            "  {in_flight:>3} in flight   {:.0} calls/s   (raw {:.0})",
            per_second(&bench, execute, in_flight, 20_000),
            per_second(&bench, raw, in_flight, 20_000),
        );
    }
    calls::print(&bench.runtime);
    front_ends::print(&bench.runtime, bench.work.path());
    languages::print(&bench.runtime, bench.work.path(), None);
    reset::print(&bench.runtime, bench.work.path());
    starts::print(&bench.runtime, None, None);
    transactions::print(&bench.runtime);
    scripts::print(&bench.runtime, bench.work.path(), None, None);
    println!("latency");
    println!(
        "  a spinning guest is answered at most {:.1} ms after its deadline, beside 16 others",
        lateness(&bench)
    );
    println!(
        "  a 1 ms timer is p99 {:.1} ms late beside four spinning guests",
        timer_beside_spinners()
    );
}
