//! SIGKILL at any point: the next start finds no partial data.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use toolhost::{
    Host, Sandbox, SandboxConfig, ToolStatus,
    sandbox::{CacheConfig, CacheVerdict},
};
use toolhost_tests::test_host::code;

use crate::pending::ended;

use super::host_process::{HostProcess, bundle, events};

const PAGE: u64 = 4096;

fn sandbox(top: &Path) -> Sandbox {
    let cache = CacheConfig::new(top.join("cache"), top.join("keys/key"));
    Sandbox::new({
        let mut config = SandboxConfig::default();
        config.cache = Some(cache);
        config
    })
    .unwrap()
}

#[tokio::test]
async fn a_start_after_a_kill_finds_complete_files_and_records() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path();
    let path = |name: &str| top.join(name);
    std::fs::create_dir(path("work")).unwrap();
    let tools: &[_] = &[
        ("write", "write_bytes", &["run"] as &[&str]),
        ("sleep", "sleep_forever", &["run"]),
    ];
    bundle(&path("bundle"), tools);
    let start = json!({
        "op": "start", "state": path("state"), "cache": path("cache"), "keys": path("keys"),
    });
    let load = json!({"op": "load", "bundle": path("bundle"), "work": path("work")});
    let mut handles = Vec::new();
    // Kills it while it starts, compiles and stores.
    for milliseconds in [0, 30, 300, 800] {
        let mut host = HostProcess::after("true");
        host.post(&start);
        host.post(&load);
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
    // Kills it while it calls, writes, logs and submits.
    const KILLS: usize = 6;
    for kill in 0..KILLS {
        let mut host = HostProcess::after("true");
        host.must(start.clone());
        host.must(load.clone());
        host.post(&json!({"op": "work"}));
        for _ in 0..=kill * 9 {
            let handle = host.answers.next().unwrap().unwrap();
            let handle: Option<String> = serde_json::from_str(&handle).unwrap();
            handles.push(handle.expect("the call is accepted"));
        }
        std::thread::sleep(Duration::from_millis(3 * kill as u64));
    }

    let own = sandbox(top);
    let entries = own.cache().unwrap().entries().unwrap();
    assert_eq!(entries.len(), tools.len());
    assert!(
        entries
            .iter()
            .all(|entry| entry.verdict == CacheVerdict::Valid),
        "{entries:?}"
    );
    for entry in std::fs::read_dir(path("work")).unwrap() {
        let length = entry.unwrap().metadata().unwrap().len();
        assert_eq!(length % PAGE, 0, "a write is complete or absent");
    }
    let host = Host::builder().sandbox(own).state_root(path("state"));
    let host = host.build().unwrap();
    let agent = host
        .load(path("bundle"))
        .await
        .unwrap()
        .only_agent()
        .unwrap();
    let instance = agent.instance("instance", host.workdir(path("work")).unwrap());
    let mut interrupted = 0;
    for handle in &handles {
        let result = ended(&instance, handle).await;
        match result.status() {
            ToolStatus::Ok => {}
            ToolStatus::Error => {
                assert_eq!(code(&result), "E_TOOL_INTERRUPTED");
                interrupted += 1;
            }
            ToolStatus::Pending => unreachable!("ended"),
        }
    }
    assert!(
        interrupted >= KILLS,
        "the sleeping calls are interrupted: {interrupted} of {}",
        handles.len()
    );

    // New lines do not join a partial line.
    let mut last = HostProcess::after("true");
    last.must(start);
    last.must(load);
    let args = json!({"path": "/last", "bytes": 1});
    assert_eq!(last.call("write__run", args)["status"], "ok");
    let logged = last.must(json!({"op": "events", "state": path("state")}));
    let events = events(logged.as_str().unwrap(), KILLS);
    assert!(events.len() > KILLS, "{}", events.len());
    assert!(logged.as_str().unwrap().ends_with('\n'));
}
