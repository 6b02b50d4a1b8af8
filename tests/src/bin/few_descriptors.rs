//! A host that may open few files, and tools that open all they can: prints what came of it.
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

/// Files that the embedder holds of its own.
const OWN: usize = 40;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    // Above it, every folder on the way would be more than this process may open.
    let work = Work::new();
    let deep = "d/".repeat(1_000);
    fs::create_dir_all(work.path(&deep)).expect("folders");
    let swapped = tempfile::tempdir().expect("a temporary directory");
    fs::write(swapped.path().join("x"), "").expect("a file");

    let ended = AtomicBool::new(false);
    let (opened, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let said = std::thread::scope(|scope| {
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
        let said = runtime.block_on(calls(&work, &deep));
        ended.store(true, SeqCst);
        said
    });
    // std would hold a descriptor for every folder.
    let removed = std::process::Command::new("rm")
        .arg("-rf")
        .arg(work.path("d"))
        .status();
    removed.expect("the folders are removed");
    let embedder = json!({ "opened": opened.into_inner(), "refused": refused.into_inner() });
    println!("{}", json!({ "embedder": embedder, "tools": said }));
}

async fn calls(work: &Work, deep: &str) -> Value {
    let probe = prepared("fs_probe").await;
    // Walks that a rename anywhere disturbs.
    let stat = json!({ "op": "stat-at", "path": format!("{deep}../d"), "follow": true });
    let missing = json!({ "op": "stat-at", "path": "d/../d", "follow": true });
    let steps = std::iter::repeat_n([stat, missing], 100)
        .flatten()
        .collect::<Vec<_>>();
    let started = Instant::now();
    let mut codes = std::collections::BTreeMap::<String, u64>::new();
    while started.elapsed() < Duration::from_secs(3) {
        let asked = invocation("run", &json!({ "script": steps }), Some(work));
        let Ok(Outcome::Output(said)) = probe.call(asked).await.outcome else {
            return json!("no output");
        };
        for result in said["results"].as_array().into_iter().flatten() {
            *codes
                .entry(result["error"].as_str().unwrap_or("ok").to_owned())
                .or_default() += 1;
        }
    }
    // Two that hold listings until they end, and another tool beside them.
    let own = Sandbox::new(SandboxConfig::default()).expect("a sandbox starts");
    let (hog, _) = own.prepare(guest("list_dir")).await.expect("it loads");
    let mut held = Vec::new();
    for _ in 0..20 {
        let mut asked = invocation("run", &json!({ "hold": 1_000 }), Some(work));
        asked.limits.open_files = 65_536;
        asked.limits.handles = 100_000;
        match hog.call(asked).await.outcome {
            Ok(Outcome::Output(said)) => held.push(said),
            other => held.push(json!(format!("{other:?}"))),
        }
    }
    json!({ "walks": codes, "held": held })
}
