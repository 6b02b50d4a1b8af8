//! Processes that share one cache.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use toolhost_sandbox::{CacheVerdict, CodeOrigin, Compiler, PrepareStage, Sandbox, SandboxConfig};
use toolhost_tests::{eventually, guest, invocation, prepare_in};

use super::{artifact_path, config, sandbox, try_sandbox};

use crate::helper::HELPER;

/// The variable with the cache directory of the child processes.
const TOP: &str = "TOOLHOST_TEST_CACHE";

/// Prepares and calls guests repeatedly, with a cache too small for all of them. The other test runs it
/// in several concurrent processes; on its own it runs alone.
#[tokio::test]
async fn a_process_stores_loads_and_evicts() {
    let own = tempfile::tempdir().unwrap();
    let top = std::env::var_os(TOP).map_or_else(|| own.path().to_owned(), Into::into);
    for round in 0..4 {
        // Each round evicts artifacts that the others have just stored, and loads theirs.
        let mut cache = config(&top);
        cache.bytes = 100_000 * round;
        let own = try_sandbox(cache).unwrap();
        for name in ["trap", "two_handlers", "echo"] {
            let tool = prepare_in(&own, name).await;
            if name == "echo" {
                let report = tool.call(invocation("say", &json!({"a": 1}), None)).await;
                assert!(report.outcome.is_ok(), "{report:?}");
            }
        }
    }
}

/// Starts a test of this module in a process of its own, with a cache beneath `top`.
fn start(test: &str, top: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg(format!("cache::processes::{test}"))
        .env(TOP, top)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn processes_can_use_one_cache_concurrently() {
    let top = tempfile::tempdir().unwrap();
    let start = |_| start("a_process_stores_loads_and_evicts", top.path());
    let racers: Vec<_> = (0..3).map(start).collect();
    for racer in racers {
        let ended = racer.wait_with_output().unwrap();
        let stdout = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{stdout}");
        assert!(stdout.contains("1 passed"), "{stdout}");
    }
    let own = sandbox(top.path());
    let entries = own.cache().unwrap().entries().unwrap();
    assert!(!entries.is_empty());
    for entry in &entries {
        assert_eq!(entry.verdict, CacheVerdict::Valid, "{entry:?}");
    }
    assert_eq!(
        own.cache().unwrap().clear().unwrap().files,
        entries.len() as u64
    );
}

/// Prepares two guests, and prints how many it has compiled. The next test runs it in several concurrent processes.
#[tokio::test]
async fn a_process_prints_how_many_components_it_has_compiled() {
    let own = tempfile::tempdir().unwrap();
    let top = std::env::var_os(TOP).map_or_else(|| own.path().to_owned(), Into::into);
    let own = sandbox(&top);
    for name in ["echo", "two_handlers"] {
        prepare_in(&own, name).await;
    }
    println!("compiled {} components", own.prepared_count().compiled);
}

#[test]
fn processes_with_one_cold_cache_compile_each_component_once() {
    let top = tempfile::tempdir().unwrap();
    let start = |_| {
        start(
            "a_process_prints_how_many_components_it_has_compiled",
            top.path(),
        )
    };
    let racers: Vec<_> = (0..4).map(start).collect();
    let mut compiled = Vec::new();
    for racer in racers {
        let ended = racer.wait_with_output().unwrap();
        let stdout = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{stdout}");
        let (_, count) = stdout.split_once("compiled ").unwrap();
        compiled.push(count.split(' ').next().unwrap().parse::<usize>().unwrap());
    }
    assert_eq!(compiled.iter().sum::<usize>(), 2, "{compiled:?}");
    let names = fs::read_dir(top.path().join("cache")).unwrap();
    assert_eq!(names.count(), 2, "no lock is left");
}

/// Compiles a guest with a compiler that never answers, if the next test runs it.
#[tokio::test]
async fn a_process_compiles_without_end() {
    let Some(top) = std::env::var_os(TOP) else {
        return;
    };
    let own = Sandbox::new({
        let mut own = SandboxConfig::default();
        own.cache = Some(config(Path::new(&top)));
        own.compiler = Some(Compiler::new(HELPER, ["compiler", "sleep"]));
        own
    });
    let _ = own.unwrap().prepare(guest("echo")).await;
}

#[tokio::test]
async fn the_component_of_a_killed_process_is_compiled_by_the_one_that_waits() {
    let top = tempfile::tempdir().unwrap();
    let mut holder = start("a_process_compiles_without_end", top.path());
    let cache = top.path().join("cache");
    // The slot and the component.
    let locks = || fs::read_dir(&cache).is_ok_and(|names| names.count() == 2);
    eventually("the process compiles", locks).await;

    let waits = Arc::new(AtomicBool::new(false));
    let (own, flag) = (sandbox(top.path()), Arc::clone(&waits));
    let prepared = tokio::spawn(async move {
        let on_stage = |stage| flag.store(stage == PrepareStage::Waiting, Ordering::SeqCst);
        own.prepare_again(guest("echo"), &[], on_stage).await
    });
    eventually("the other waits", || waits.load(Ordering::SeqCst)).await;
    holder.kill().unwrap();
    holder.wait().unwrap();
    let (_, origin) = prepared.await.unwrap().unwrap();
    assert_eq!(origin, CodeOrigin::Compiled);
    assert!(!waits.load(Ordering::SeqCst), "it reports that it compiles");
    artifact_path(top.path());
}
