//! Processes that share one cache.

use std::process::{Command, Stdio};

use serde_json::json;
use toolhost_sandbox::CacheVerdict;
use toolhost_tests::{invocation, prepare_in};

use super::{config, sandbox, try_sandbox};

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

#[test]
fn processes_can_use_one_cache_concurrently() {
    let top = tempfile::tempdir().unwrap();
    let test = "cache::processes::a_process_stores_loads_and_evicts";
    let start = |_| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(TOP, top.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
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
