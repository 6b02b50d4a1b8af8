//! Resources that all calls share, exhausted repeatedly.

use std::time::Duration;

use serde_json::json;
use toolhost_sandbox::{Outcome, PrepareError, Sandbox, SandboxError};
use toolhost_tests::{eventually, invocation, nothing, own_sandbox, prepare_in};

use super::{TIMES, alone, stays_flat};
use crate::sandbox::agents_port::Port;
use crate::sandbox::wat::component;

/// Starts a call that holds its slot until it is dropped.
async fn holder(own: &Sandbox) -> tokio::task::JoinHandle<()> {
    let sleep = prepare_in(own, "sleep_forever").await;
    let free = own.free_call_slots();
    let holds = tokio::spawn(async move {
        let _report = sleep.call(invocation("run", &nothing(), None)).await;
    });
    eventually("the slot is taken", || own.free_call_slots() == free - 1).await;
    holds
}

async fn runs(own: &Sandbox) {
    let echo = prepare_in(own, "echo").await;
    let report = echo.call(invocation("say", &json!({"a": 1}), None)).await;
    assert_eq!(report.outcome.unwrap(), Outcome::Output(json!({"a": 1})));
}

#[test]
fn refused_and_dropped_queued_calls_leak_nothing() {
    alone(async {
        for (what, waiting_calls, says) in [
            ("no call may wait", 0, "too many calls are waiting"),
            (
                "calls may wait for 10 ms",
                10,
                "no call slot became free in time",
            ),
        ] {
            let own = own_sandbox(|config| {
                config.live_calls = 1;
                config.waiting_calls = waiting_calls;
                config.queueing = Duration::from_millis(1);
            });
            let holds = holder(&own).await;
            let echo = prepare_in(&own, "echo").await;
            stays_flat(what, TIMES, async |_| {
                let report = echo.call(invocation("say", &nothing(), None)).await;
                assert!(
                    matches!(&report.outcome, Err(SandboxError::Busy { reason }) if *reason == says),
                    "{what}: {report:?}"
                );
            })
            .await;
            holds.abort();
            eventually("the slot is free", || own.free_call_slots() == 1).await;
            assert_eq!(own.waiting_calls(), 0);
            runs(&own).await;
        }

        let own = own_sandbox(|config| config.live_calls = 1);
        let holds = holder(&own).await;
        let echo = prepare_in(&own, "echo").await;
        stays_flat("dropped in the queue", TIMES, async |_| {
            let call = echo.call(invocation("say", &nothing(), None));
            assert!(tokio::time::timeout(Duration::ZERO, call).await.is_err());
        })
        .await;
        assert_eq!(own.waiting_calls(), 0);
        holds.abort();
        runs(&own).await;
    });
}

#[test]
fn exhausting_the_memory_of_all_calls_leaks_nothing() {
    alone(async {
        let own = own_sandbox(|config| config.memory_bytes = 24 << 20);
        let eat = prepare_in(&own, "eat_memory").await;
        // Each call touches all of the memory.
        stays_flat("the memory of all calls", TIMES / 5, async |_| {
            let report = eat.call(invocation("run", &nothing(), None)).await;
            assert!(
                matches!(report.outcome, Err(SandboxError::MemoryExhausted)),
                "{report:?}"
            );
        })
        .await;
        assert_eq!(own.memory_in_use(), 0);
        runs(&own).await;
    });
}

#[test]
fn parked_calls_leak_nothing() {
    alone(async {
        for (what, parked_calls) in [("no parking slot", 0), ("parked", 1)] {
            let own = own_sandbox(|config| config.parked_calls = parked_calls);
            let asks = prepare_in(&own, "ask_agents").await;
            let port = Port::new();
            stays_flat(what, TIMES, async |_| {
                let mut request = invocation("run", &json!({"do": "request", "target": "a"}), None);
                request.agents = Some(port.clone());
                let report = asks.call(request).await;
                let Ok(Outcome::Output(answer)) = &report.outcome else {
                    panic!("{report:?}");
                };
                let busy = answer["error"]["code"] == "E_TOOL_BUSY";
                assert_eq!(busy, parked_calls == 0, "{answer}");
                port.take();
            })
            .await;
            assert_eq!(own.parked_calls(), 0);
            runs(&own).await;
        }
    });
}

#[test]
fn preparing_and_refusing_components_leaks_nothing() {
    alone(async {
        let own = own_sandbox(|_| ());
        stays_flat("from the cache", TIMES, async |_| {
            prepare_in(&own, "trap").await;
        })
        .await;
        let own = own_sandbox(|config| config.compile.types = 1);
        stays_flat("larger than it may be", TIMES, async |_| {
            let refused = own.prepare(component("answer", "")).await;
            assert!(matches!(refused, Err(PrepareError::TooLarge { .. })));
        })
        .await;
        let own = own_sandbox(|config| {
            config.cache = None;
            config.describing = Duration::from_millis(1);
        });
        // Each component is compiled, which takes about ten milliseconds.
        stays_flat("slower than it may be", TIMES / 5, async |_| {
            let refused = own.prepare(component("loop_in_start", "")).await;
            assert!(
                matches!(
                    refused,
                    Err(PrepareError::Describe(SandboxError::Timeout { .. }))
                ),
                "{refused:?}"
            );
        })
        .await;
        assert_eq!(own.memory_in_use(), 0);
    });
}
