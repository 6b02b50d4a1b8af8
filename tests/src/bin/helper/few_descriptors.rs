//! Runs tools that open as many files as they can, in a process with a low limit; prints the results.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a program of the tests"
)]

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost_sandbox::{Outcome, Sandbox, SandboxConfig};
use toolhost_tests::{Work, guest, invocation, prepared};

/// Files that the embedder opens itself.
const OWN: usize = 40;

pub(crate) fn run() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    // One descriptor for every folder of this path would exceed the limit of the process.
    let work = Work::new();
    let deep = "d/".repeat(1_000);
    fs::create_dir_all(work.path(&deep)).expect("folders");
    let swapped = tempfile::tempdir().expect("a temporary directory");
    fs::write(swapped.path().join("x"), "").expect("a file");

    let ended = AtomicBool::new(false);
    let (opened, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let results = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(SeqCst) {
                let held: Result<Vec<File>, _> =
                    (0..OWN).map(|_| File::open("/dev/null")).collect();
                let count = if held.is_ok() { &opened } else { &refused };
                count.fetch_add(1, SeqCst);
                drop(held);
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        scope.spawn(|| {
            let (x, y) = (swapped.path().join("x"), swapped.path().join("y"));
            while !ended.load(SeqCst) {
                fs::rename(&x, &y)
                    .and_then(|()| fs::rename(&y, &x))
                    .expect("it moves");
            }
        });
        let results = runtime.block_on(calls(&work, &deep));
        ended.store(true, SeqCst);
        results
    });
    // std would keep a descriptor open for every folder.
    let removed = std::process::Command::new("rm")
        .arg("-rf")
        .arg(work.path("d"))
        .status();
    removed.expect("the folders are removed");
    let embedder = json!({ "opened": opened.into_inner(), "refused": refused.into_inner() });
    println!("{}", json!({ "embedder": embedder, "tools": results }));
}

async fn calls(work: &Work, deep: &str) -> Value {
    let probe = prepared("fs_probe").await;
    // Path lookups that every rename on the machine disturbs.
    let stat = json!({ "op": "stat-at", "path": format!("{deep}../d"), "follow": true });
    let missing = json!({ "op": "stat-at", "path": "d/../d", "follow": true });
    let steps = std::iter::repeat_n([stat, missing], 100)
        .flatten()
        .collect::<Vec<_>>();
    let started = Instant::now();
    let mut codes = std::collections::BTreeMap::<String, u64>::new();
    while started.elapsed() < Duration::from_secs(3) {
        let call = invocation("run", &json!({ "script": steps }), Some(work));
        let Ok(Outcome::Output(results)) = probe.call(call).await.outcome else {
            return json!("no output");
        };
        for result in results["results"].as_array().into_iter().flatten() {
            *codes
                .entry(result["error"].as_str().unwrap_or("ok").to_owned())
                .or_default() += 1;
        }
    }
    // Two calls that hold listings until they end, and another tool.
    let own = Sandbox::new(SandboxConfig::default()).expect("a sandbox starts");
    let (hog, _) = own.prepare(guest("list_dir")).await.expect("it loads");
    let mut held = Vec::new();
    for _ in 0..20 {
        let mut call = invocation("run", &json!({ "hold": 1_000 }), Some(work));
        call.limits.open_files = 65_536;
        call.limits.handles = 100_000;
        match hog.call(call).await.outcome {
            Ok(Outcome::Output(results)) => held.push(results),
            other => held.push(json!(format!("{other:?}"))),
        }
    }
    json!({ "walks": codes, "held": held })
}
