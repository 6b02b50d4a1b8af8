//! Measures command lines of the tool `bash` beside processes of the machine's bash.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use toolhost::{AssistantMessage, Host, Step, ToolCall, ToolStatus};
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use crate::measure::{call, calls_for, median};

/// What agents run most.
const LINES: [&str; 5] = [
    "true",
    "ls | wc -l",
    "sort names.txt | uniq -c | sort -rn | head",
    "grep -c needle files/*",
    "find . -name '*7.txt' | xargs cat | wc -l",
];

/// Time of one measurement in a round.
const ROUND: Duration = Duration::from_millis(200);

/// Rounds. The tool and the process alternate, so that noise affects both.
const ROUNDS: usize = 7;

const FILES: usize = 50;

/// Writes the files that the lines read.
fn write_files(work: &Path) {
    let folder = work.join("files");
    std::fs::create_dir(&folder).unwrap();
    for file in 0..FILES {
        let text = format!("hay {file}\nneedle\n").repeat(100);
        std::fs::write(folder.join(format!("{file}.txt")), text).unwrap();
    }
    let names: String = (0..500).map(|n| format!("name-{}\n", n % 17)).collect();
    std::fs::write(work.join("names.txt"), names).unwrap();
}

/// The microseconds of each of some calls.
async fn times(step: &Step, call: &ToolCall, count: usize) -> Vec<f64> {
    let message = AssistantMessage::for_call(call);
    let mut micros = Vec::with_capacity(count);
    for _ in 0..count {
        let call = call.clone();
        let start = Instant::now();
        let result = step.execute(call, &message).await;
        micros.push(start.elapsed().as_secs_f64() * 1e6);
        assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    }
    micros
}

/// The microseconds of one process of bash, the median of as many as the time of a round allows.
fn process(line: &str, work: &Path) -> f64 {
    let started = Instant::now();
    let mut micros = Vec::new();
    while started.elapsed() < ROUND || micros.is_empty() {
        let start = Instant::now();
        let mut bash = Command::new("bash");
        bash.args(["-c", line]).current_dir(work);
        bash.stdin(Stdio::null()).stderr(Stdio::null());
        bash.output().unwrap();
        micros.push(start.elapsed().as_secs_f64() * 1e6);
    }
    median(micros)
}

/// What the command line asks for.
pub(crate) enum Task<'a> {
    /// A row for each line, beside a process of bash.
    Table,
    /// Calls of one line and nothing else, for `perf`: what `N` calls cost is the difference of two runs.
    Calls { line: &'a str, count: usize },
}

impl<'a> Task<'a> {
    /// Parses what follows `shell`: nothing, or a number of calls and the line.
    pub(crate) fn parse(words: &'a [String]) -> Result<Self, String> {
        let [count, line @ ..] = words else {
            return Ok(Self::Table);
        };
        match (count.parse(), line) {
            (Ok(count), [line]) => Ok(Self::Calls { line, count }),
            _ => Err(
                "after `shell`, name a number of calls and a command line in one word".to_owned(),
            ),
        }
    }
}

/// Prints a row for each line, or makes the calls of one.
pub(crate) fn run(runtime: &Runtime, work: &Path, task: &Task<'_>) {
    write_files(work);
    let host = Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .build()
        .unwrap();
    let bundle = root("guest-examples/base");
    let loaded = match runtime.block_on(host.load(&bundle)) {
        Ok(loaded) => loaded,
        Err(error) => return println!("the shell is not measured: {error}"),
    };
    let agent = loaded.only_agent().unwrap();
    let workdir = host.workdir(work).unwrap();
    let step = Arc::new(runtime.block_on(open_step(&agent, "bench", &workdir)));
    if let Task::Calls { line, count } = task {
        let call = call("bash__exec", json!({"command": line}));
        let mut micros = runtime.block_on(times(&step, &call, *count));
        micros.sort_by(f64::total_cmp);
        let least = micros.first().unwrap();
        return println!(
            "{line}: {least:.0} µs at least, {:.0} µs the median",
            median(micros.clone())
        );
    }
    println!("a command line in the tool bash, and in a process of bash");
    for line in LINES {
        let call = call("bash__exec", json!({"command": line}));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (calls, took) = calls_for(ROUND, runtime, &step, &call, 1);
            ours.push(took.as_secs_f64() * 1e6 / calls);
            theirs.push(process(line, work));
        }
        let (ours, theirs) = (median(ours), median(theirs));
        println!(
            "  {line:<45} {ours:>9.0} µs   {theirs:>9.0} µs   {:.2} ×",
            ours / theirs
        );
    }
}
