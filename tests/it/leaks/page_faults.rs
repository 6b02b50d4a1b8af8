//! Page faults of calls, once a tool is warm. They are counted, not timed: a call that takes some hundred of
//! them interrupts the other cores as often.

use serde_json::{Value, json};
use toolhost::{AssistantMessage, Host, Step, ToolStatus};
use toolhost_tests::process_usage::page_faults;
use toolhost_tests::test_host::{open_step, tool_call};
use toolhost_tests::{own_sandbox, root};

use super::alone;

/// Calls before those that are counted.
const WARM_UP: u64 = 20;

/// Calls that are counted.
const CALLS: u64 = 50;

/// A tool of the examples, a call, and the most page faults of it.
struct Row {
    bundle: &'static str,
    tool: &'static str,
    args: Value,
    most: u64,
}

/// Opens a step of an example bundle. None if the bundle is not built.
#[expect(clippy::print_stdout, reason = "what is not measured is named")]
async fn step(host: &Host, row: &Row, work: &std::path::Path) -> Option<Step> {
    let workdir = host.workdir(work).unwrap();
    match host.load(root("guest-examples").join(row.bundle)).await {
        Ok(loaded) => Some(open_step(&loaded.only_agent().unwrap(), "instance", &workdir).await),
        Err(error) => {
            println!("page faults of {}: not measured: {error}", row.tool);
            None
        }
    }
}

async fn calls(step: &Step, row: &Row, times: u64) {
    let call = tool_call(row.tool, row.args.clone());
    let message = AssistantMessage::for_call(&call);
    for _ in 0..times {
        let result = step.execute(call.clone(), &message).await;
        assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    }
}

#[test]
fn a_call_of_a_warm_tool_takes_few_page_faults() {
    let rows = [
        Row {
            bundle: ".",
            tool: "echo__say",
            args: json!({"text": "hello", "n": 1}),
            most: 2,
        },
        Row {
            bundle: ".",
            tool: "file-system__read",
            args: json!({"path": "f.csv"}),
            most: 2,
        },
        Row {
            bundle: "typescript/text-transform",
            tool: "text-transform__replace",
            args: json!({"text": "some text ".repeat(20), "find": "text", "with": "words"}),
            most: 50,
        },
        Row {
            bundle: "python/csv-stats",
            tool: "csv-stats__count",
            args: json!({"path": "f.csv", "by": "kind"}),
            most: 200,
        },
    ];
    alone(async {
        let work = tempfile::tempdir().unwrap();
        let lines = (0..500).map(|line| format!("{line},kind-{}\n", line % 7));
        let csv = format!("n,kind\n{}", lines.collect::<String>());
        std::fs::write(work.path().join("f.csv"), csv).unwrap();
        let host = Host::builder()
            .sandbox(own_sandbox(|_| ()))
            .build()
            .unwrap();
        for row in &rows {
            let Some(step) = step(&host, row, work.path()).await else {
                continue;
            };
            calls(&step, row, WARM_UP).await;
            let before = page_faults();
            calls(&step, row, CALLS).await;
            let each = (page_faults() - before) / CALLS;
            println!("page faults of {}: {each}", row.tool);
            assert!(
                each <= row.most,
                "{}: {each}, at most {}",
                row.tool,
                row.most
            );
        }
    });
}
