//! Handles stay valid after their process ends or is killed.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;
use toolhost::{Host, ToolStatus};
use toolhost_tests::test_host::{code, open_step, write_bundle, yaml};
use toolhost_tests::{Work, sandbox};

use super::{ended, submit};

use crate::helper::helper;

const TOOLS: &[toolhost_tests::test_host::TestTool<'_>] = &[
    ("write", "write_bytes", &["run"]),
    ("sleep", "sleep_forever", &["run"]),
];

fn bundle() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), &yaml(TOOLS), &["write_bytes", "sleep_forever"]);
    dir
}

fn host(state: &tempfile::TempDir) -> Host {
    let host = Host::builder().sandbox(sandbox()).state_root(state.path());
    host.build().unwrap()
}

#[tokio::test]
async fn killing_the_process_loses_and_repeats_none_of_a_thousand_calls() {
    // tool-spec-v2 §10.2
    const CALLS: usize = 1000;
    let (state, bundle, work) = (tempfile::tempdir().unwrap(), bundle(), Work::new());
    let mut child = helper("pending-child")
        .args([state.path(), bundle.path(), work.dir.path()])
        .arg(CALLS.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let handles: Vec<String> = lines
        .map(Result::unwrap)
        .take_while(|line| line != "ready")
        .collect();
    assert_eq!(handles.len(), CALLS);
    // SIGKILL, while hundreds of calls sleep and some may write.
    child.kill().unwrap();
    child.wait().unwrap();

    let host = host(&state);
    let agent = host
        .load(bundle.path())
        .await
        .unwrap()
        .only_agent()
        .unwrap();
    let instance = agent.instance("instance", work.workdir.clone());
    let (mut done, mut interrupted) = (0, 0);
    for (number, handle) in handles.iter().enumerate() {
        let result = ended(&instance, handle).await;
        let file = work.path(&number.to_string());
        let effects = std::fs::metadata(file).map_or(0, |file| file.len());
        assert!(effects <= 1, "call {number} was run {effects} times");
        match result.status() {
            ToolStatus::Ok => {
                done += 1;
                assert_eq!(
                    (number % 2, effects),
                    (0, 1),
                    "only a call that ran has a result"
                );
            }
            ToolStatus::Error => {
                interrupted += 1;
                assert_eq!(code(&result), "E_TOOL_INTERRUPTED");
            }
            ToolStatus::Pending => unreachable!("ended"),
        }
        assert_eq!(result.tool_call_id(), format!("call-{number}"));
    }
    assert_eq!(done + interrupted, CALLS);
    assert!(
        interrupted >= CALLS / 2,
        "the sleeping calls are interrupted: {interrupted}"
    );
}

#[tokio::test]
async fn two_hosts_can_share_a_state_root() {
    let (state, bundle, work) = (tempfile::tempdir().unwrap(), bundle(), Work::new());
    let (one, two) = (host(&state), host(&state));
    let agent = one.load(bundle.path()).await.unwrap().only_agent().unwrap();
    let step = open_step(&agent, "instance", &work.workdir).await;
    let sleeping = submit(&step, "s", "sleep__run", json!({"seconds": 30})).await;
    let args = json!({"path": "/made", "bytes": 1});
    let writing = submit(&step, "w", "write__run", args).await;

    let other = two.load(bundle.path()).await.unwrap().only_agent().unwrap();
    let other = other.instance("instance", work.workdir.clone());
    let result = ended(&other, writing.handle().unwrap()).await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    let handle = sleeping.handle().unwrap();
    assert_eq!(
        other.poll(handle).await.status(),
        ToolStatus::Pending,
        "the process of the call is alive"
    );
    assert_eq!(code(&other.cancel(handle).await), "E_TOOL_CANCELLED");
    let own = agent.instance("instance", work.workdir.clone());
    assert_eq!(code(&own.poll(handle).await), "E_TOOL_CANCELLED");
}
