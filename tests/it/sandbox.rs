//! Calls in the sandbox: limits, denials, reports, and the release of resources.

mod agents;
pub(crate) mod agents_port;
mod deadlines;
mod describe;
mod fairness;
mod large_components;
mod memory_reset;
mod output;
mod parking;
mod polling;
mod recording;
pub(crate) mod wat;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost_contract::Denial;
use toolhost_sandbox::{FileIo, Outcome, Sandbox, SandboxConfig, SandboxError, WorkdirRules};
use toolhost_tests::{
    Work, eventually, invocation, limits, nothing, output, prepare_in, prepared, run, sandbox,
};

#[tokio::test]
async fn a_component_reads_back_the_context_it_was_given() {
    // tool-spec-v2 §2.5, §7.3
    let work = Work::new();
    let call = invocation("context", &nothing(), Some(&work));
    let expected = serde_json::to_value(&call.context).unwrap();
    let report = prepared("echo").await.call(call).await;
    let context = output(&report);
    for field in [
        "agentName",
        "instanceKey",
        "turnId",
        "toolCallId",
        "message",
        "workdir",
    ] {
        assert_eq!(context[field], expected[field], "{field}");
    }
    assert_eq!(context["workdir"], "/");
    assert_eq!(report.log.len(), 1);
}

#[tokio::test]
async fn no_state_survives_a_call() {
    let tool = prepared("keep_state").await;
    let mut randoms = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let report = tool.call(invocation("run", &nothing(), None)).await;
        assert_eq!(output(&report)["count"], 1);
        randoms.insert(output(&report)["random"].to_string());
    }
    assert_eq!(randoms.len(), 20, "every call gets different random bytes");
}

#[tokio::test]
async fn dropping_a_call_frees_its_slot_and_its_memory() {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let places = sandbox.free_call_slots();
    for name in ["spin_forever", "sleep_forever"] {
        let tool = prepare_in(&sandbox, name).await;
        let call = invocation("run", &nothing(), None);
        let call = tokio::spawn(async move { tool.call(call).await });
        eventually("the guest runs", || sandbox.memory_in_use() > 0).await;
        // Long enough for a computing guest to move to the sandbox's threads.
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(sandbox.free_call_slots(), places - 1);
        call.abort();
        eventually("the slot is free", || sandbox.free_call_slots() == places).await;
        eventually("the memory is free", || sandbox.memory_in_use() == 0).await;
    }
}

#[test]
fn a_call_runs_without_a_runtime_and_without_timers() {
    let report = futures_executor::block_on(async {
        let mut call = invocation("run", &nothing(), None);
        call.limits.deadline = Duration::from_millis(50);
        prepared("sleep_forever").await.call(call).await
    });
    assert!(matches!(report.outcome, Err(SandboxError::Timeout { .. })));
}

#[test]
fn a_spinning_guest_does_not_block_a_single_threaded_caller() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let work = Work::new();
        let (spinner, echo) = (prepared("spin_forever").await, prepared("echo").await);
        let mut call = invocation("run", &nothing(), None);
        call.limits.deadline = Duration::from_millis(1500);
        let spinning = tokio::spawn(async move { spinner.call(call).await });
        tokio::task::yield_now().await;
        for _ in 0..20 {
            let report = echo
                .call(invocation("say", &json!({"a": 1}), Some(&work)))
                .await;
            assert_eq!(output(&report)["a"], 1);
        }
        assert!(
            !spinning.is_finished(),
            "the echoes were answered while the other computed"
        );
        let report = spinning.await.unwrap();
        assert!(matches!(report.outcome, Err(SandboxError::Timeout { .. })));
    });
}

#[tokio::test]
async fn a_sandbox_can_be_dropped_in_async_code() {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let tool = prepare_in(&sandbox, "spin_forever").await;
    let mut call = invocation("run", &nothing(), None);
    call.limits.deadline = Duration::from_millis(30);
    let report = tool.call(call).await;
    assert!(matches!(report.outcome, Err(SandboxError::Timeout { .. })));
    drop(tool);
    drop(sandbox);
}

#[tokio::test]
async fn a_call_waits_for_a_free_slot_and_is_refused_when_the_queue_is_full() {
    let sandbox = Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = 1;
        config.waiting_calls = 1;
        config.queueing = Duration::from_millis(100);
        config
    })
    .unwrap();
    let spinner = prepare_in(&sandbox, "sleep_forever").await;
    let echo = prepare_in(&sandbox, "echo").await;
    let say = || invocation("say", &json!({"a": 1}), None);

    let sleeping =
        tokio::spawn(async move { spinner.call(invocation("run", &nothing(), None)).await });
    eventually("the guest sleeps", || sandbox.free_call_slots() == 0).await;
    let report = echo.call(say()).await;
    assert!(
        matches!(report.outcome, Err(SandboxError::Busy { .. })),
        "the queueing time has passed"
    );
    assert!(report.usage.queued >= Duration::from_millis(100));

    let (first, second) = (echo.clone(), echo.clone());
    let waits = tokio::spawn(async move { first.call(say()).await });
    eventually("one call waits", || sandbox.waiting_calls() == 1).await;
    let refused = second.call(say()).await;
    assert!(
        matches!(refused.outcome, Err(SandboxError::Busy { .. })),
        "the queue is full"
    );
    sleeping.abort();
    assert_eq!(output(&waits.await.unwrap())["a"], 1);
    assert_eq!(sandbox.waiting_calls(), 0);
}

#[tokio::test]
async fn memory_is_limited_per_call_and_for_all_calls_together() {
    let report = run("eat_memory", nothing()).await;
    let limit = limits(|_| ()).memory_bytes;
    assert!(matches!(report.outcome, Err(SandboxError::OutOfMemory { limit: l }) if l == limit));
    assert!(report.usage.memory_peak <= limit);
    assert!(report.usage.memory_peak > limit / 2);

    let sandbox = Sandbox::new({
        let mut config = SandboxConfig::default();
        config.memory_bytes = 64 << 20;
        config
    })
    .unwrap();
    let tool = prepare_in(&sandbox, "eat_memory").await;
    let report = tool.call(invocation("run", &nothing(), None)).await;
    assert!(
        matches!(report.outcome, Err(SandboxError::MemoryExhausted)),
        "{:?}",
        report.outcome
    );
    assert_eq!(sandbox.memory_in_use(), 0);
    let small = tool
        .call(invocation("run", &json!({"bytes": 1_000_000}), None))
        .await;
    assert_eq!(output(&small)["touched"], 1_000_000);
}

#[tokio::test]
async fn usage_is_reported_after_a_trap_and_after_a_timeout() {
    let touched = run("eat_memory", json!({"bytes": 20_000_000})).await;
    assert!(
        touched.usage.memory_peak >= 20_000_000,
        "{:?}",
        touched.usage
    );

    let trapped = run("panic_with_reason", json!({"reason": "because"})).await;
    assert!(
        matches!(&trapped.outcome, Err(SandboxError::Trap { reason }) if reason == "the reason: because")
    );
    assert!(trapped.usage.memory_peak > 0);
    assert!(trapped.usage.stderr_bytes > 0);

    let mut call = invocation("run", &json!({"bytes": 1_000_000_000}), None);
    call.limits.deadline = Duration::from_millis(100);
    let stopped = prepared("flood_stdout").await.call(call).await;
    assert!(matches!(stopped.outcome, Err(SandboxError::Timeout { .. })));
    assert!(stopped.usage.stdout_bytes > 10_000);
    assert!(stopped.usage.wall >= Duration::from_millis(100));
}

#[tokio::test]
async fn long_stdout_keeps_its_head_and_tail_and_is_not_an_error() {
    let report = run("flood_stdout", json!({"bytes": 300_000})).await;
    assert!(report.outcome.is_ok());
    assert_eq!(report.usage.stdout_bytes, 300_000);
    assert!(report.stdout.contains("bytes left out"));
    assert!(report.stdout.len() < 66_000);
    assert!(report.stdout.starts_with("o00000000000000"));
}

#[tokio::test]
async fn a_guest_without_grants_reaches_only_its_workdir() {
    let seen = run("look_at_environment", nothing()).await;
    let seen = output(&seen);
    assert_eq!(seen["env"], json!({}));
    assert_eq!(seen["args"], json!([]));
    assert_eq!(seen["stdin"]["bytes"], 0);
    assert_eq!(seen["preopens"], json!(["/"]));

    // A listener on loopback that must receive no connection.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let report = run("dial_out", json!({"host": "127.0.0.1", "port": port})).await;
    for operation in ["tcp", "udp", "dns", "listen"] {
        assert_eq!(output(&report)[operation]["ok"], false, "{operation}");
    }
    assert_eq!(
        report.usage.denials,
        [Denial::NetworkDns, Denial::NetworkTcp, Denial::NetworkUdp]
    );
    assert!(listener.accept().is_err(), "no connection arrived");
}

#[tokio::test]
async fn a_guest_sends_no_packet() {
    let listener = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let mut received = [0; 16];
    let report = run(
        "dial_out",
        json!({"host": "127.0.0.1", "port": address.port()}),
    )
    .await;
    assert_eq!(output(&report)["udp"]["ok"], false);
    assert!(listener.recv(&mut received).is_err(), "no packet arrived");
    // The listener does receive packets.
    let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    other.send_to(b"hello", address).unwrap();
    listener.set_nonblocking(false).unwrap();
    assert_eq!(listener.recv(&mut received).unwrap(), 5);
}

#[tokio::test]
async fn a_guest_looks_up_no_name() {
    // A lookup opens a socket, which the watching thread would see.
    let sockets = || {
        let fds = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let links = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
        links
            .filter(|link| link.to_string_lossy().starts_with("socket:"))
            .count()
    };
    let before = sockets();
    let calls = Arc::new(());
    let running = Arc::downgrade(&calls);
    let watcher = std::thread::spawn(move || {
        let mut most = 0;
        while running.strong_count() > 0 {
            most = most.max(sockets());
        }
        most
    });
    for _ in 0..20 {
        let call = json!({"host": "unknown.invalid", "port": 9});
        let report = run("dial_out", call).await;
        assert_eq!(output(&report)["dns"]["ok"], false);
        assert!(report.usage.denials.contains(&Denial::NetworkDns));
    }
    drop(calls);
    assert_eq!(watcher.join().unwrap(), before);
}

#[tokio::test]
async fn parallel_calls_share_no_data() {
    let tool = prepared("echo").await;
    let calls: Vec<_> = (0..300)
        .map(|n| {
            let tool = tool.clone();
            tokio::spawn(async move {
                (
                    n,
                    tool.call(invocation("say", &json!({"n": n}), None)).await,
                )
            })
        })
        .collect();
    for call in calls {
        let (n, report) = call.await.unwrap();
        assert_eq!(output(&report)["n"], n);
    }
}

#[tokio::test]
async fn a_trap_leaves_the_tool_usable() {
    let tool = prepared("trap").await;
    for _ in 0..50 {
        let report = tool.call(invocation("run", &nothing(), None)).await;
        assert!(matches!(report.outcome, Err(SandboxError::Trap { .. })));
    }
    assert!(run("recurse", nothing()).await.outcome.is_err());
    assert!(run("keep_state", nothing()).await.outcome.is_ok());
}

#[test]
fn the_root_directory_is_refused_as_a_workdir() {
    let refused = sandbox().open_workdir("/".as_ref(), &WorkdirRules::default());
    assert!(refused.is_err());
}

#[tokio::test]
async fn the_deadline_counts_from_the_start_of_the_call() {
    let started = Instant::now();
    let mut call = invocation("run", &nothing(), None);
    call.limits.deadline = Duration::from_millis(40);
    let report = prepared("spin_forever").await.call(call).await;
    assert!(
        matches!(report.outcome, Err(SandboxError::Timeout { deadline }) if deadline.as_millis() == 40)
    );
    assert!(report.usage.wall >= Duration::from_millis(40));
    assert!(report.usage.wall <= started.elapsed());
}

#[tokio::test]
async fn handles_and_random_bytes_are_limited() {
    let random = |bytes: u64| run("ask_random", json!({"bytes": bytes}));
    assert!(random(64 << 10).await.outcome.is_ok());
    for bytes in [(64 << 10) + 1, u64::MAX] {
        let report = random(bytes).await;
        assert!(
            matches!(report.outcome, Err(SandboxError::Trap { .. })),
            "{:?}",
            report.outcome
        );
    }
    let insecure = |bytes: u64| run("ask_random", json!({"bytes": bytes, "insecure": true}));
    assert!(insecure(64 << 10).await.outcome.is_ok());
    let report = insecure(u64::MAX).await;
    assert!(
        matches!(report.outcome, Err(SandboxError::Trap { .. })),
        "{report:?}"
    );
    for kind in ["pollable", "descriptor", "stream", "listing", "preopen"] {
        let report = run("hoard_handles", json!({"count": 1_000_000, "kind": kind})).await;
        let stopped = match &report.outcome {
            Err(SandboxError::Trap { .. }) => true,
            Ok(Outcome::Output(made)) => made["made"].as_u64().is_some_and(|made| made <= 1_000),
            _ => false,
        };
        assert!(stopped, "{kind}: {:?}", report.outcome);
    }
}

#[tokio::test]
async fn log_records_beyond_the_limits_are_cut_or_dropped_and_counted() {
    let report = run("flood_log", json!({"records": 1_500, "bytes": 100})).await;
    assert_eq!(
        (report.usage.log_records, report.usage.log_dropped),
        (1_500, 500)
    );
    assert_eq!(report.log.len(), 1_000);
    // Long records are truncated, and half a megabyte of them is kept.
    let report = run("flood_log", json!({"records": 1_500, "bytes": 10_000})).await;
    let kept = report.log.len();
    assert!((100..=130).contains(&kept), "{kept}");
    assert_eq!(report.usage.log_dropped, 1_500 - kept as u64);
    assert!(report.log.iter().all(|record| record.message.len() < 4_200));
}

#[tokio::test]
async fn a_call_with_offloaded_file_io_runs_on_its_own_thread() {
    let work = Work::new();
    let offloaded = |handler: &str, input: Value| {
        let mut call = invocation(handler, &input, Some(&work));
        call.workdir = call.workdir.map(|root| root.with_file_io(FileIo::Offload));
        call
    };
    let inline = prepared("busy_files")
        .await
        .call(invocation("run", &json!({"dir": "/a"}), Some(&work)))
        .await;
    let sandbox = prepared("busy_files")
        .await
        .call(offloaded("run", json!({"dir": "/b"})))
        .await;
    assert_eq!(output(&inline), output(&sandbox));

    let mut call = offloaded("run", nothing());
    call.limits.deadline = Duration::from_millis(50);
    let report = prepared("spin_forever").await.call(call).await;
    assert!(matches!(report.outcome, Err(SandboxError::Timeout { .. })));

    let spinning = Sandbox::new(SandboxConfig::default()).unwrap();
    let tool = prepare_in(&spinning, "spin_forever").await;
    let places = spinning.free_call_slots();
    let call = offloaded("run", nothing());
    let call = tokio::spawn(async move { tool.call(call).await });
    eventually("the guest runs", || {
        spinning.free_call_slots() == places - 1
    })
    .await;
    call.abort();
    eventually("the call has ended", || {
        spinning.free_call_slots() == places
    })
    .await;
}
