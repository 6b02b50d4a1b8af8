//! Every way in which a call can end, repeatedly; and turns, steps and handles of successful calls.

use std::time::Duration;

use serde_json::json;
use toolhost::{AssistantMessage, Instance, ToolStatus, TurnStart};
use toolhost_tests::eventually;
use toolhost_tests::test_host::{TestHost, code, tool_call, tool_call_of};

use super::{TIMES, alone, stays_flat};

const TOOLS: &[toolhost_tests::test_host::TestTool<'_>] = &[
    ("echo", "echo", &["say"]),
    ("trap", "trap", &["run"]),
    ("panics", "panic_with_reason", &["run"]),
    ("exits", "exit_process", &["run"]),
    ("spin", "spin_forever", &["run"]),
    ("sleep", "sleep_forever", &["run"]),
    ("pending", "pending", &["run"]),
];

#[test]
fn traps_deadlines_and_refusals_leak_nothing() {
    alone(async {
        let soon = "tools: {spin: {limits: {deadlineMs: 1}}, sleep: {limits: {deadlineMs: 1}}}";
        let test_host = TestHost::with_tools(TOOLS, soon).await;
        for (tool, args, expected) in [
            ("trap__run", json!({}), "E_TOOL_TRAP"),
            (
                "panics__run",
                json!({"reason": "r".repeat(1_000)}),
                "E_TOOL_TRAP",
            ),
            ("exits__run", json!({}), "E_TOOL_EXIT"),
            ("spin__run", json!({}), "E_TOOL_TIMEOUT"),
            ("sleep__run", json!({}), "E_TOOL_TIMEOUT"),
            ("nowhere__run", json!({}), "E_TOOL_NOT_IN_CATALOG"),
        ] {
            stays_flat(tool, TIMES, async |_| {
                assert_eq!(code(&test_host.call(tool, args.clone()).await), expected);
            })
            .await;
            let after = test_host.call("echo__say", json!({"after": tool})).await;
            assert_eq!(after.output(), Some(&json!({"after": tool})));
        }
    });
}

#[test]
fn dropped_calls_leak_nothing() {
    alone(async {
        let test_host = TestHost::with_tools(TOOLS, "").await;
        let (sandbox, places) = (
            test_host.host.sandbox(),
            test_host.host.sandbox().free_call_slots(),
        );
        for tool in ["spin__run", "sleep__run"] {
            stays_flat(tool, TIMES, async |n| {
                // By then some calls have moved to the sandbox's threads.
                let soon = Duration::from_micros((n as u64 % 40) * 100);
                let call = test_host.call(tool, json!({}));
                assert!(tokio::time::timeout(soon, call).await.is_err());
            })
            .await;
            eventually("every slot is free", || sandbox.free_call_slots() == places).await;
            eventually("the memory is free", || sandbox.memory_in_use() == 0).await;
            let after = test_host.call("echo__say", json!({"after": tool})).await;
            assert_eq!(after.output(), Some(&json!({"after": tool})));
        }
    });
}

#[test]
fn turns_and_steps_leak_nothing() {
    alone(async {
        let test_host = TestHost::with_tools(TOOLS, "").await;
        let instance = test_host
            .agent
            .instance("key", test_host.work.workdir.clone());
        stays_flat("turns and steps", TIMES, async |n| {
            let turn = instance.open_turn(TurnStart::new(format!("turn-{n}")));
            let turn = turn.await.unwrap();
            let step = turn.open_step().await.unwrap();
            let call = tool_call_of(&format!("call-{n}"), "echo__say", json!({"n": n}));
            let result = step.execute_without_message(call).await;
            assert_eq!(result.output(), Some(&json!({"n": n})));
            // Some turns are closed, and some dropped.
            if n % 2 == 0 {
                step.close(json!(n)).await.unwrap();
                turn.close(json!(n)).await.unwrap();
            }
        })
        .await;
    });
}

async fn ended(instance: &Instance, handle: &str) -> toolhost::ToolResult {
    loop {
        let result = instance.poll(handle).await;
        if result.status() != ToolStatus::Pending {
            return result;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn background_calls_leak_nothing() {
    alone(async {
        let test_host = TestHost::with_tools(TOOLS, "").await;
        let instance = test_host
            .agent
            .instance("instance", test_host.work.workdir.clone());
        let submit = async |n: usize, name: &str, args| {
            let call = tool_call_of(&format!("call-{n}"), name, args);
            let message = AssistantMessage::for_call(&call);
            let accepted = test_host.step.submit(call, &message).await;
            accepted.handle().unwrap().to_owned()
        };
        // Each result is kept for a day, as a row of one or two kilobytes.
        stays_flat("results that are fetched", TIMES, async |n| {
            let handle = submit(n, "echo__say", json!({"n": n})).await;
            let result = ended(&instance, &handle).await;
            assert_eq!(result.output(), Some(&json!({"n": n})));
            assert_eq!(result.tool_call_id(), format!("call-{n}"));
        })
        .await;
        stays_flat("calls that are cancelled", TIMES, async |n| {
            let handle = submit(n, "sleep__run", json!({})).await;
            assert_eq!(code(&instance.cancel(&handle).await), "E_TOOL_CANCELLED");
        })
        .await;
        stays_flat("a component's handles", TIMES, async |n| {
            let call = tool_call("pending__run", json!({"handle": format!("done:{n}")}));
            let accepted = test_host.step.execute_without_message(call).await;
            let result = ended(&instance, accepted.handle().unwrap()).await;
            assert_eq!(result.output(), Some(&json!(n)));
        })
        .await;
    });
}
