//! The soak test: `helper soak SECONDS [--without-drift]`.
//!
//! Runs calls of every kind, 256 concurrently, on real components and tools of an extension, while turns
//! and steps open and close. Prints statistics; fails if a result differs from the expected one, or if
//! memory, files or threads have grown since the warm-up.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of the tests: what cannot go on fails loudly"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost::{
    Agent, AssistantMessage, HandlerError, Host, Instance, JsonObject, Policy, Step, ToolCall,
    ToolResult, ToolStatus, TurnStart, extension::HandlerContext,
};
use toolhost_tests::own_sandbox;
use toolhost_tests::process_usage::ProcessUsage;
use toolhost_tests::test_host::{TestTool, tool_call_of, write_bundle, yaml};

/// Concurrent calls.
const IN_FLIGHT: usize = 256;

/// Time after which resource usage is expected to be stable.
const WARM_UP: Duration = Duration::from_secs(60);

/// Largest growth of memory after the warm-up, in percent.
const GROWTH_PERCENT: u64 = 5;

/// Largest number of mismatches that are printed.
const PRINTED_MISMATCHES: usize = 20;

const TOOLS: &[TestTool<'_>] = &[
    ("echo", "echo", &["say"]),
    ("text", "text", &["upper"]),
    ("trap", "trap", &["run"]),
    ("panics", "panic_with_reason", &["run"]),
    ("spin", "spin_forever", &["run"]),
    ("sleep", "sleep_forever", &["run"]),
    ("eat", "eat_memory", &["run"]),
    ("flood-log", "flood_log", &["run"]),
    ("flood-stdout", "flood_stdout", &["run"]),
    ("flood-output", "flood_output", &["run"]),
    ("writer", "write_bytes", &["run"]),
    ("hoard", "hoard_handles", &["run"]),
    ("dial", "dial_out", &["run"]),
    ("pending", "pending", &["run"]),
];

/// A deadline of ten minutes, because queueing takes long on a busy machine.
const POLICY: &str = "defaults: {limits: {deadlineMs: 600000}}
tools: {
    spin: {limits: {deadlineMs: 50}},
    eat: {limits: {memoryBytes: 4MiB}},
    flood-output: {limits: {outputBytes: 64KiB}},
    writer: {limits: {diskBytes: 64KiB}},
}";

/// The expected result of a call.
enum Expected {
    Output(Value),
    /// An output with this member.
    OutputMember(&'static str, Value),
    Error(&'static str),
}

/// The way to make a call.
enum How {
    Executed,
    /// Submitted and polled.
    Submitted,
    /// Executed; the component returns a handle, which is polled.
    Polled,
    /// Dropped after this number of microseconds, if it has not ended.
    Dropped(u64),
}

/// Returns the `n`-th call; `luck` is a random number.
fn call(luck: u64, n: u64) -> (&'static str, Value, How, Expected) {
    use Expected::{Error, Output, OutputMember};
    use How::{Dropped, Executed, Polled, Submitted};
    let own = json!({"n": n, "luck": luck});
    match luck % 40 {
        0 => ("trap__run", json!({}), Executed, Error("E_TOOL_TRAP")),
        1 => {
            let args = json!({"reason": format!("{n}")});
            ("panics__run", args, Executed, Error("E_TOOL_TRAP"))
        }
        2 => ("spin__run", json!({}), Executed, Error("E_TOOL_TIMEOUT")),
        3 => (
            "eat__run",
            json!({}),
            Executed,
            Error("E_TOOL_OUT_OF_MEMORY"),
        ),
        4 => {
            let args = json!({"records": 1_200, "bytes": 100});
            let expected = OutputMember("records", json!(1_200));
            ("flood-log__run", args, Executed, expected)
        }
        5 => {
            let expected = OutputMember("stderr", json!(200_000));
            (
                "flood-stdout__run",
                json!({"bytes": 200_000}),
                Executed,
                expected,
            )
        }
        6 => {
            let error = Error("E_TOOL_OUTPUT_TOO_LARGE");
            (
                "flood-output__run",
                json!({"bytes": 200_000}),
                Executed,
                error,
            )
        }
        7 => {
            let expected = OutputMember("error", json!("EIO"));
            ("writer__run", json!({"bytes": 200_000}), Executed, expected)
        }
        8 => {
            let args = json!({"count": 100_000, "kind": "pollable"});
            ("hoard__run", args, Executed, Error("E_TOOL_TRAP"))
        }
        9 => {
            let expected = OutputMember("listen", json!({"ok": false, "error": "EACCES"}));
            ("dial__run", json!({}), Executed, expected)
        }
        10 => (
            "text__upper",
            json!({}),
            Executed,
            Error("E_TOOL_INVALID_ARGS"),
        ),
        11 => ("no__tool", own, Executed, Error("E_TOOL_NOT_IN_CATALOG")),
        12 | 13 => {
            let drop = Dropped(luck >> 8 & 0x3fff);
            ("sleep__run", json!({}), drop, Error("E_TOOL_TIMEOUT"))
        }
        14 => {
            let drop = Dropped(luck >> 8 & 0x3fff);
            ("spin__run", json!({}), drop, Error("E_TOOL_TIMEOUT"))
        }
        15 => {
            let drop = Dropped(luck >> 8 & 0xff);
            ("echo__say", own.clone(), drop, Output(own))
        }
        16 | 17 => ("echo__say", own.clone(), Submitted, Output(own)),
        18 => ("trap__run", json!({}), Submitted, Error("E_TOOL_TRAP")),
        19 => {
            let args = json!({"handle": format!("next:done:{own}")});
            ("pending__run", args, Polled, Output(own))
        }
        20..24 => ("native__echo", own.clone(), Executed, Output(own)),
        24..28 => {
            let args = json!({"text": format!("a{n}")});
            let output = Output(json!({"text": format!("A{n}")}));
            ("text__upper", args, Executed, output)
        }
        _ => ("echo__say", own.clone(), Executed, Output(own)),
    }
}

impl Expected {
    fn is(&self, result: &ToolResult) -> bool {
        match self {
            Self::Output(output) => result.output() == Some(output),
            Self::OutputMember(member, value) => {
                result.output().and_then(|output| output.get(member)) == Some(value)
            }
            Self::Error(code) => result
                .tool_error()
                .is_some_and(|error| error.code.as_str() == *code),
        }
    }
}

/// The statistics so far.
#[derive(Default)]
struct Tally {
    calls: AtomicU64,
    /// Number of calls by outcome.
    ends: Mutex<BTreeMap<String, u64>>,
    wrong: Mutex<Vec<String>>,
}

impl Tally {
    fn count(&self, end: &str) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        *ends.entry(end.to_owned()).or_default() += 1;
        self.calls.fetch_add(1, Relaxed);
    }

    fn wrong(&self, what: String) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.push(what);
    }

    fn wrongs(&self) -> Vec<String> {
        self.wrong
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Compares a result with the expected one and with its call.
    fn check(&self, call: &ToolCall, result: &ToolResult, expected: &Expected) {
        let own = result.tool_call_id() == call.id && result.tool_name() == call.name;
        if !own || !expected.is(result) {
            self.wrong(format!("{call:?}: {result:?}"));
        }
        let code = result.tool_error().map(|error| error.code.to_string());
        self.count(code.as_deref().unwrap_or("ok"));
    }
}

/// One of the concurrent callers.
struct Caller {
    instance: Instance,
    tally: Arc<Tally>,
    number: usize,
    calls: u64,
    luck: u64,
}

impl Caller {
    fn luck(&mut self) -> u64 {
        // xorshift64 with a fixed seed: the same calls in every run.
        self.luck ^= self.luck << 13;
        self.luck ^= self.luck >> 7;
        self.luck ^= self.luck << 17;
        self.luck
    }

    /// Runs turns until `until`.
    async fn run(&mut self, until: Instant) {
        while Instant::now() < until {
            let luck = self.luck();
            let turn = TurnStart::new(format!("turn-{}-{}", self.number, self.calls));
            let turn = self.instance.open_turn(turn).await.expect("it opens");
            for _ in 0..=luck % 3 {
                let step = turn.open_step().await.expect("it opens");
                for _ in 0..=luck % 5 {
                    self.call(&step).await;
                }
                // Some turns are closed, and some dropped.
                if luck & 0x100 == 0 {
                    step.close(()).await.expect("it closes");
                }
            }
            if luck & 0x200 == 0 {
                turn.close(()).await.expect("it closes");
            }
            tokio::task::yield_now().await;
        }
    }

    async fn call(&mut self, step: &Step) {
        let (n, luck) = (self.calls, self.luck());
        self.calls += 1;
        let (name, args, how, expected) = call(luck, n);
        let call = tool_call_of(&format!("call-{}-{n}", self.number), name, args);
        let message = AssistantMessage::for_call(&call);
        let result = match how {
            How::Executed => step.execute(call.clone(), &message).await,
            How::Submitted => {
                let accepted = step.submit(call.clone(), &message).await;
                self.ended(accepted).await
            }
            How::Polled => {
                let accepted = step.execute(call.clone(), &message).await;
                self.ended(accepted).await
            }
            How::Dropped(micros) => {
                let executed = step.execute(call.clone(), &message);
                let time = Duration::from_micros(micros);
                match tokio::time::timeout(time, executed).await {
                    Ok(result) => result,
                    Err(_) => return self.tally.count("(dropped)"),
                }
            }
        };
        self.tally.check(&call, &result, &expected);
    }

    /// Polls a call until it has ended.
    async fn ended(&self, accepted: ToolResult) -> ToolResult {
        let Some(handle) = accepted.handle() else {
            return accepted;
        };
        loop {
            let result = self.instance.poll(handle).await;
            if result.status() != ToolStatus::Pending {
                return result;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

async fn echo(_: HandlerContext, input: JsonObject) -> Result<Value, HandlerError> {
    tokio::task::yield_now().await;
    Ok(Value::Object(input))
}

/// Returns the host and the agent whose tools are called.
async fn test_host(top: &std::path::Path) -> (Host, Agent) {
    let bundle = top.join("bundle");
    std::fs::create_dir(&bundle).expect("it is made");
    let guests: Vec<_> = TOOLS.iter().map(|(_, guest, _)| *guest).collect();
    write_bundle(&bundle, &yaml(TOOLS), &guests);
    let host = Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .policy(Policy::parse(POLICY, "policy.yaml").expect("it parses"))
        .state_root(top.join("state"))
        // Longer than a call takes on a busy machine, and short enough that the number of stored results
        // is the same after the warm-up and at the end.
        .pending_expiry(WARM_UP)
        .build()
        .expect("the host starts");
    let loaded = host.load(&bundle).await.expect("the bundle loads");
    let agent = loaded.only_agent().expect("there is one agent");
    let native = serde_json::from_value(json!({"name": "native__echo"})).expect("an item");
    agent
        .extend("native", |api| api.tools().register(native, echo))
        .expect("it is registered");
    (host, agent)
}

/// Runs all callers until `until`, and prints progress every ten seconds.
async fn phase(callers: Vec<Caller>, started: Instant, until: Instant) -> Vec<Caller> {
    let tally = callers.first().map(|caller| Arc::clone(&caller.tally));
    let progress = tokio::spawn(async move {
        let mut every = tokio::time::interval(Duration::from_secs(10));
        let mut before = 0;
        every.tick().await;
        while let Some(tally) = &tally {
            every.tick().await;
            let calls = tally.calls.load(Relaxed);
            let held = ProcessUsage::now();
            println!(
                "  {:>4} s: {calls} calls, {}/s, {} wrong, RSS {} MiB, {} files, {} threads",
                started.elapsed().as_secs(),
                (calls - before) / 10,
                tally.wrongs().len(),
                held.rss >> 20,
                held.fds,
                held.threads,
            );
            before = calls;
        }
    });
    let running: Vec<_> = callers
        .into_iter()
        .map(|mut caller| {
            tokio::spawn(async move {
                caller.run(until).await;
                caller
            })
        })
        .collect();
    let mut callers = Vec::with_capacity(running.len());
    for caller in running {
        callers.push(caller.await.expect("no caller panics"));
    }
    progress.abort();
    callers
}

/// Waits until idle threads have ended, which takes up to ten seconds, and returns the usage.
async fn at_rest(most: Option<ProcessUsage>) -> ProcessUsage {
    let started = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let held = ProcessUsage::now();
        let done = match most {
            Some(most) => held.fds <= most.fds && held.threads <= most.threads,
            None => started.elapsed() >= Duration::from_secs(1),
        };
        if done || started.elapsed() > Duration::from_secs(15) {
            return held;
        }
    }
}

fn print(tally: &Tally, took: Duration, before: ProcessUsage, after: ProcessUsage) {
    let calls = tally.calls.load(Relaxed);
    let per_second = calls as f64 / took.as_secs_f64();
    println!(
        "soak: {} s, {IN_FLIGHT} at once, {calls} calls, {per_second:.0}/s",
        took.as_secs()
    );
    let ends = tally.ends.lock().unwrap_or_else(PoisonError::into_inner);
    for (end, count) in &*ends {
        println!("  {end:<26}{count:>10}");
    }
    println!("                          warmed up   at the end");
    println!(
        "  RSS, KiB                {:>9}   {:>10}",
        before.rss >> 10,
        after.rss >> 10
    );
    println!(
        "  open files              {:>9}   {:>10}",
        before.fds, after.fds
    );
    println!(
        "  threads                 {:>9}   {:>10}",
        before.threads, after.threads
    );
}

/// Returns descriptions of the failures.
fn faults(tally: &Tally, drift: Option<(ProcessUsage, ProcessUsage)>) -> Vec<String> {
    let mut faults = tally.wrongs();
    faults.truncate(PRINTED_MISMATCHES);
    if let Some((before, after)) = drift {
        if after.rss > before.rss + before.rss * GROWTH_PERCENT / 100 {
            faults.push(format!("memory grew by more than {GROWTH_PERCENT} %"));
        }
        if after.fds > before.fds {
            faults.push("more files are open".to_owned());
        }
        if after.threads > before.threads {
            faults.push("there are more threads".to_owned());
        }
    }
    faults
}

#[tokio::main]
pub(crate) async fn run(arguments: &[String]) -> ExitCode {
    let seconds = arguments.first().and_then(|seconds| seconds.parse().ok());
    let time = Duration::from_secs(seconds.expect("soak SECONDS [--without-drift]"));
    let drift = !arguments.iter().any(|word| word == "--without-drift");

    let top = tempfile::tempdir().expect("a temporary directory");
    let (host, agent) = test_host(top.path()).await;
    let tally = Arc::new(Tally::default());
    let callers = (0..IN_FLIGHT).map(|number| {
        let work = top.path().join(format!("work-{number}"));
        std::fs::create_dir(&work).expect("it is made");
        let workdir = host.workdir(&work).expect("it opens");
        Caller {
            instance: agent.instance(format!("caller-{number}"), workdir),
            tally: Arc::clone(&tally),
            number,
            calls: 0,
            luck: 0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1),
        }
    });
    let callers = callers.collect();

    let started = Instant::now();
    let warm_up = WARM_UP.min(time / 5);
    let callers = phase(callers, started, started + warm_up).await;
    let before = at_rest(None).await;
    let callers = phase(callers, started, started + time).await;
    let took = started.elapsed();
    let after = at_rest(drift.then_some(before)).await;
    drop(callers);

    print(&tally, took, before, after);
    let mut faults = faults(&tally, drift.then_some((before, after)));
    let sandbox = host.sandbox();
    if (sandbox.waiting_calls(), sandbox.memory_in_use()) != (0, 0) {
        faults.push("calls still wait or hold memory".to_owned());
    }
    for fault in &faults {
        eprintln!("soak: {fault}");
    }
    if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
