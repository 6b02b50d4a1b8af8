//! The cell: one handler, one store, every limit.

use std::time::{Duration, Instant};

use serde_json::json;
use toolhost_sandbox::{Outcome, SandboxError};
use toolhost_tests::{invocation, limits, nothing, prepared, run, Work};

#[tokio::test]
async fn echoes() {
    let tool = prepared("echo").await;
    let work = Work::new();
    for _ in 0..2000 { tool.call(invocation("say", &json!({"a": 1}), Some(&work))).await; }
    let t = Instant::now();
    for _ in 0..2000 { tool.call(invocation("say", &json!({"a": 1}), Some(&work))).await; }
    println!("echo {:?}", t.elapsed() / 2000);
    let report = tool.call(invocation("say", &json!({"a": 1}), Some(&work))).await;
    println!("{report:?}");
    let report = tool.call(invocation("context", &json!({}), Some(&work))).await;
    println!("{report:?}");
    for (g, i) in [("spin_forever", json!({})), ("eat_memory", json!({})), ("trap", json!({})), ("panic_with_reason", json!({"reason":"because"})), ("recurse", json!({})), ("exit_process", json!({"code":3})), ("flood_output", json!({"bytes": 5_000_000})), ("flood_output", json!({"bytes": 50_000_000})), ("flood_stdout", json!({"bytes": 50_000_000})), ("sleep_forever", json!({})), ("look_at_environment", json!({})), ("dial_out", json!({"host":"127.0.0.1","port":80})), ("forge_host_code", json!({"message":"m","code":"E_TOOL_TIMEOUT"})), ("pending", json!({"handle":"h"})), ("flood_log", json!({"records": 2000, "bytes": 10000})), ("keep_state", json!({})), ("busy_files", json!({}))] {
        let mut i = invocation("run", &i, Some(&work));
        i.limits.deadline = Duration::from_millis(500);
        let t = Instant::now();
        let mut r = prepared(g).await.call(i).await;
        r.log.truncate(1); r.stdout.truncate(50);
        println!("{g} {:?} {r:?}\n", t.elapsed());
    }
}
