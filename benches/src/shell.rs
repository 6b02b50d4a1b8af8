//! Measures command lines of the tool `bash` beside processes of the machine's bash.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use toolhost::Host;
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

/// Prints a row for each line.
pub(crate) fn print(runtime: &Runtime, work: &Path) {
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
