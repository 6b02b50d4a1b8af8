//! Processes that share one cache.

use std::process::{Command, Stdio};

use serde_json::json;
use toolhost_sandbox::{CacheConfig, CacheVerdict};
use toolhost_tests::{guest, invocation};

use super::{config, sandbox, try_sandbox};

/// Where the processes that a test starts find their cache.
const TOP: &str = "TOOLHOST_TEST_CACHE";

/// Prepares and calls guests, over and over, in a cache too small for them all. Started by the other
/// test in several processes at once; by itself it races with nobody.
#[tokio::test]
async fn a_process_stores_maps_and_evicts() {
    let own = tempfile::tempdir().unwrap();
    let top = std::env::var_os(TOP).map_or_else(|| own.path().to_owned(), Into::into);
    for round in 0..4 {
        // Each round removes what the others have just stored, and maps what they have.
        let cache = CacheConfig {
            bytes: 100_000 * round,
            ..config(&top)
        };
        let own = try_sandbox(cache).unwrap();
        for name in ["trap", "two_handlers", "echo"] {
            let (tool, _) = own.prepare(guest(name)).await.unwrap();
            if name == "echo" {
                let report = tool.call(invocation("say", &json!({"a": 1}), None)).await;
                assert!(report.outcome.is_ok(), "{report:?}");
            }
        }
    }
}

#[test]
fn processes_may_race_for_one_cache() {
    let top = tempfile::tempdir().unwrap();
    let test = "cache::processes::a_process_stores_maps_and_evicts";
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
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
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
