//! Memory, files and threads of a process that reloads for long.

use serde_json::json;
use toolhost::{Host, Policy, ToolStatus};
use toolhost_tests::own_sandbox;

use super::{Fixture, replace_component, tool};
use crate::leaks::{alone, stays_flat};

/// Reloads, after a tenth of them as a warm-up.
const TIMES: usize = 200;

#[test]
fn hundreds_of_reloads_leave_memory_files_and_threads_as_they_were() {
    alone(async {
        let manifest = tool("t", "t", "run", "x");
        let state = tempfile::tempdir().unwrap();
        // Otherwise each new component gets memory of its own to keep between calls, up to this limit.
        let sandbox = own_sandbox(|config| config.idle_memory_bytes = 0);
        let host = Host::builder().sandbox(sandbox).state_root(state.path());
        let host = host.build().unwrap();
        let fixture = Fixture::load_files(host, &manifest, &[("t", "echo_raw")]).await;
        let once = async |n: usize| {
            let name = ["flood_log", "echo_raw"][n % 2];
            replace_component(&fixture.path("t.wasm"), name);
            let limits = format!("tools: {{t: {{limits: {{deadlineMs: {}}}}}}}", 1_000 + n);
            let policy = Policy::parse(&limits, "policy.yaml").unwrap();
            let updated = fixture.live.update(|current| async move {
                current.host().with_policy(policy).reload(&current).await
            });
            updated.await.unwrap();
            let args = json!({"records": 1, "output": "{}"});
            assert_eq!(fixture.call("t__run", args).await.status(), ToolStatus::Ok);
        };
        stays_flat("reloads", TIMES, once).await;
    });
}

#[test]
fn hundreds_of_failed_reloads_leave_memory_files_and_threads_as_they_were() {
    alone(async {
        let manifest = tool("t", "echo_raw", "run", "x");
        let fixture = Fixture::load(&manifest, &["echo_raw"]).await;
        let bad = super::documents(&[manifest, tool("u", "missing", "run", "x")]);
        fixture.write_manifest(&bad);
        let once = async |_| {
            assert!(fixture.live.reload().await.is_err());
        };
        stays_flat("failed reloads", TIMES, once).await;
        let args = json!({"output": "{}"});
        assert_eq!(fixture.call("t__run", args).await.status(), ToolStatus::Ok);
    });
}
