//! A policy that changes: for the next call, and not for those that run.

use std::sync::Arc;

use serde_json::json;
use toolhost::{LiveBundle, LoadError, LoadedBundle, Policy, ToolStatus};
use toolhost_tests::eventually;
use toolhost_tests::test_host::{open_step, tool_call};

use super::{Fixture, builder, tool};

/// Loads the bundle under another policy.
async fn apply(live: &LiveBundle, policy: &str) -> Result<LoadedBundle, LoadError> {
    let policy = Policy::parse(policy, "policy.yaml").unwrap();
    let updated = live.update(|current| async move {
        let host = current.host().with_policy(policy);
        host.reload(&current).await
    });
    updated.await
}

#[tokio::test]
async fn a_revoked_grant_is_denied_to_the_next_call_and_running_calls_keep_it() {
    let manifest = tool("files", "make_files", "run", "x");
    let fixture = Fixture::load(&manifest, &["make_files"]).await;
    // On a slow machine the call may end before the policy is applied.
    for attempt in 0..10 {
        if revoke_while_a_call_runs(&fixture, &format!("/many-{attempt}")).await {
            return;
        }
    }
    panic!("the call always ended before the policy was applied");
}

/// Returns whether a call was running when its grant was revoked. Then it has kept the grant.
async fn revoke_while_a_call_runs(fixture: &Fixture, dir: &str) -> bool {
    let created = |dir: &str| fixture.work.path(dir.trim_start_matches('/')).exists();
    let step = Arc::new(open_step(&fixture.agent(), "key", &fixture.work.workdir).await);
    let running = {
        let call = tool_call("files__run", json!({"count": 9_000, "dir": dir}));
        tokio::spawn(async move { step.execute_without_message(call).await })
    };
    eventually("the call writes", || created(dir)).await;
    apply(&fixture.live, "tools: {files: {readOnly: true}}")
        .await
        .unwrap();
    let was_running = !running.is_finished();
    let denied = json!({"count": 1, "dir": "/denied"});
    let denied = fixture.call("files__run", denied).await;
    assert_eq!(denied.status(), ToolStatus::Error, "{denied:?}");
    assert!(!created("/denied"));
    let made = json!({"made": 9_000});
    assert_eq!(running.await.unwrap().output(), Some(&made));

    apply(&fixture.live, "{}").await.unwrap();
    let again = json!({"count": 1, "dir": format!("{dir}-again")});
    let again = fixture.call("files__run", again).await;
    assert_eq!(again.output(), Some(&json!({"made": 1})));
    assert!(created(&format!("{dir}-again/0")));
    was_running
}

#[tokio::test]
async fn the_secrets_of_the_new_and_of_the_earlier_policy_are_redacted() {
    let policy = |secret: &str| format!("tools: {{e: {{env: {{TOKEN: {{secret: {secret}}}}}}}}}");
    let first = Policy::parse(&policy("first-secret"), "policy.yaml").unwrap();
    let host = builder().policy(first).build().unwrap();
    let manifest = tool("e", "echo_raw", "run", "x");
    let fixture = Fixture::load_in(host, &manifest, &["echo_raw"]).await;
    apply(&fixture.live, &policy("second-secret"))
        .await
        .unwrap();
    let output = json!(["first-secret", "second-secret"]).to_string();
    let result = fixture.call("e__run", json!({"output": output})).await;
    let redacted = json!(["[redacted:TOKEN]", "[redacted:TOKEN]"]);
    assert_eq!(result.output(), Some(&redacted));
}

#[tokio::test]
async fn pending_calls_and_events_continue_under_another_policy() {
    let state = tempfile::tempdir().unwrap();
    let host = builder().state_root(state.path()).build().unwrap();
    let manifest = tool("p", "pending", "run", "x");
    let fixture = Fixture::load_in(host.clone(), &manifest, &["pending"]).await;
    let mut completions = host.completions().await.unwrap();
    let pending = fixture
        .call("p__run", json!({"handle": "done:{\"a\":1}"}))
        .await;
    let handle = pending.handle().unwrap().to_owned();
    apply(&fixture.live, "tools: {p: {limits: {deadlineMs: 5000}}}")
        .await
        .unwrap();
    let instance = fixture
        .agent()
        .instance("instance", fixture.work.workdir.clone());
    assert_eq!(
        instance.poll(&handle).await.output(),
        Some(&json!({"a": 1}))
    );
    let completed = completions.next().await;
    assert!(
        matches!(completed, Some(toolhost::pending::Completed::Call(call)) if call.handle == handle)
    );
}

#[tokio::test]
async fn a_policy_that_cannot_be_used_with_the_bundle_changes_nothing() {
    let manifest = tool("files", "make_files", "run", "x");
    let fixture = Fixture::load(&manifest, &["make_files"]).await;
    fixture.write_manifest("kind: [");
    let refused = apply(&fixture.live, "tools: {files: {readOnly: true}}").await;
    assert!(
        matches!(refused, Err(LoadError::Invalid { .. })),
        "{refused:?}"
    );
    let result = fixture.call("files__run", json!({"count": 1})).await;
    assert_eq!(result.output(), Some(&json!({"made": 1})));
}
