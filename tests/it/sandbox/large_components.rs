//! Components that are slow or large to read and to compile.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use toolhost_sandbox::{PrepareError, PreparedTool, Sandbox};
use toolhost_tests::process_usage::ProcessUsage;
use toolhost_tests::{invocation, nothing, own_sandbox};

use super::wat::{component, small_sandbox};

/// A generous bound: it only separates seconds from hours.
const LATE: Duration = Duration::from_secs(60);

/// Largest memory that compiling one component may take.
const MOST_MEMORY: u64 = 3 << 30;

/// Prepares a component, asserts the bounds of time and memory, and that the sandbox still works.
async fn prepare_in_time(what: &str, bytes: Vec<u8>) -> Result<PreparedTool, PrepareError> {
    let sandbox = small_sandbox();
    let (started, before) = (Instant::now(), ProcessUsage::now().peak);
    let prepared = sandbox.prepare(bytes).await;
    let (took, grown) = (started.elapsed(), ProcessUsage::now().peak - before);
    eprintln!(
        "{what}: {:?}, {} ms, {} MiB",
        prepared.as_ref().err().map(ToString::to_string),
        took.as_millis(),
        grown >> 20
    );
    assert!(took < LATE, "{what}: {took:?}");
    assert!(grown < MOST_MEMORY, "{what}: {grown}");
    assert_works(&sandbox).await;
    prepared.map(|(tool, _)| tool)
}

async fn assert_works(sandbox: &Sandbox) {
    let (tool, _) = sandbox.prepare(component("answer", "")).await.unwrap();
    let report = tool.call(invocation("run", &nothing(), None)).await;
    assert!(report.outcome.is_ok(), "{report:?}");
}

/// Returns a component that runs and holds this function in another module.
fn with_function(function: &str) -> Vec<u8> {
    component("answer", &format!("(core module (func {function}))"))
}

#[tokio::test]
async fn blocks_nested_fifty_thousand_deep_load_or_are_refused_in_time() {
    const DEEP: usize = 50_000;
    for (what, begin) in [
        ("blocks", "block "),
        ("loops", "loop "),
        ("ifs", "i32.const 1 if "),
    ] {
        let nested = format!("{} {}", begin.repeat(DEEP), "end ".repeat(DEEP));
        let _result = prepare_in_time(what, with_function(&nested)).await;
    }
    let jumps = format!(
        "{} i32.const 0 br_table {} {}",
        "block ".repeat(DEEP),
        (0..DEEP).map(|n| format!("{n} ")).collect::<String>(),
        "end ".repeat(DEEP)
    );
    let _result = prepare_in_time("a jump table", with_function(&jumps)).await;
}

#[tokio::test]
async fn functions_of_fifty_thousand_locals_load_or_are_refused_in_time() {
    // Each instruction defines a value, and every local is live until the end of the function.
    let sets: String = (0..50_000)
        .map(|n| {
            format!(
                "local.get {} i32.const 1 i32.add local.set {n} ",
                (n + 1) % 50_000
            )
        })
        .collect();
    for (what, times) in [("a function of 0.5 MB", 1), ("one of 3.5 MB", 7)] {
        let body = format!("(local {}) {}", "i32 ".repeat(50_000), sets.repeat(times));
        let _result = prepare_in_time(what, with_function(&body)).await;
    }
}

#[tokio::test]
async fn a_module_of_fifty_megabytes_loads_and_one_beyond_the_limit_is_refused() {
    let data = |bytes: usize| {
        let text = "x".repeat(bytes);
        component(
            "answer",
            &format!("(core module (memory 1) (data \"{text}\"))"),
        )
    };
    let loaded = prepare_in_time("50 MB", data(50 << 20)).await;
    assert!(loaded.is_ok(), "{loaded:?}");
    let refused = prepare_in_time("65 MB", data(65 << 20)).await.unwrap_err();
    assert!(
        matches!(refused, PrepareError::TooLarge { what: "bytes", .. }),
        "{refused:?}"
    );
}

/// Prepares arbitrary bytes; a panic or a hang fails the test.
fn prepare_anything(sandbox: &Sandbox, bytes: Vec<u8>) {
    let _facts = sandbox.read_facts(&bytes);
    let _result = futures_executor::block_on(sandbox.prepare(bytes));
    assert_eq!((sandbox.free_call_slots(), sandbox.memory_in_use()), (4, 0));
}

#[test]
fn random_bytes_never_cause_a_panic() {
    let sandbox = own_sandbox(|config| {
        config.live_calls = 4;
        config.cache = None;
        config.describing = Duration::from_millis(200);
    });
    let whole = component("answer", "");
    let magic = b"\0asm\x0d\0\x01\0";
    let config = ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(
        noise in proptest::collection::vec(any::<u8>(), 0..2_000),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0..8), 1..4),
        cut in any::<prop::sample::Index>(),
    )| {
        prepare_anything(&sandbox, noise.clone());
        prepare_anything(&sandbox, [magic.as_slice(), &noise].concat());
        prepare_anything(&sandbox, whole[..cut.index(whole.len())].to_vec());
        let mut flipped = whole.clone();
        for (at, bit) in flips {
            let at = at.index(flipped.len());
            flipped[at] ^= 1_u8 << bit;
        }
        prepare_anything(&sandbox, flipped);
    });
    futures_executor::block_on(assert_works(&sandbox));
}
