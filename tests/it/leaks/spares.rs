//! Sandboxes that are dropped while they have spare instances.

use serde_json::json;
use toolhost_tests::{invocation, output, own_sandbox, prepare_in};

use super::{alone, stays_flat};

/// Sandboxes, after a tenth of them as a warm-up.
const TIMES: usize = 100;

#[test]
fn dropped_sandboxes_leave_no_spare_instances() {
    alone(async {
        stays_flat("sandboxes with spare instances", TIMES, async |_| {
            let own = own_sandbox(|config| config.spare_instances = 8);
            let echo = prepare_in(&own, "echo").await;
            while own.spare_instances().used < 4 {
                let report = echo.call(invocation("say", &json!({"a": 1}), None)).await;
                assert_eq!(output(&report)["a"], 1);
                tokio::task::yield_now().await;
            }
        })
        .await;
    });
}
