//! 1,000 workdirs of one host.

use std::time::Instant;

use serde_json::json;
use tokio::runtime::Runtime;
use toolhost::{Host, Step, ToolStatus};
use toolhost_tests::process_usage::ProcessUsage;
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use super::row::{ScaleRow, mib, rss, seconds_since};
use crate::measure::{call, median};
use crate::peers::spread::{digits, micros};

const WORKDIRS: usize = 1_000;

/// Rounds in which each workdir is used once.
const ROUNDS: usize = 10;

pub(super) fn measure(runtime: &Runtime) -> Vec<ScaleRow> {
    let host = Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .build()
        .unwrap();
    let loaded = runtime.block_on(host.load(root("guest-examples"))).unwrap();
    let agent = loaded.only_agent().unwrap();
    let top = tempfile::tempdir().unwrap();
    let open = |number: usize| {
        let folder = top.path().join(format!("workdir-{number}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("text.txt"), format!("text {number}")).unwrap();
        let workdir = host.workdir(&folder).unwrap();
        runtime.block_on(open_step(&agent, &format!("bench-{number}"), &workdir))
    };
    let one = [open(WORKDIRS)];
    read(runtime, &one, WORKDIRS);
    let before = rss();
    let started = Instant::now();
    let all: Vec<_> = (0..WORKDIRS).map(open).collect();
    let took = seconds_since(started);
    read(runtime, &all, WORKDIRS);
    let (mut ratios, mut times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let alone = read(runtime, &one, WORKDIRS);
        let time = read(runtime, &all, WORKDIRS);
        ratios.push(time / alone);
        times.push(time);
    }
    let usage = ProcessUsage::now();
    vec![ScaleRow {
        name: "1,000 workdirs, each of an instance of its own".to_owned(),
        result: format!(
            "made and opened in {took}; resident memory {} before, {} after; {} open files; a file read \
             {}: {} × that in a single workdir",
            mib(before),
            mib(usage.rss),
            usage.fds,
            micros(median(times)),
            digits(median(ratios)),
        ),
    }]
}

/// Reads the file in each workdir in turn, and returns the microseconds of one call.
fn read(runtime: &Runtime, steps: &[Step], calls: usize) -> f64 {
    let call = call("file-system__read", json!({"path": "text.txt"}));
    let started = Instant::now();
    runtime.block_on(async {
        for step in steps.iter().cycle().take(calls) {
            let result = step.execute_without_message(call.clone()).await;
            assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
        }
    });
    started.elapsed().as_secs_f64() * 1e6 / calls as f64
}
