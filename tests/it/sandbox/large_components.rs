//! Bytes that are made to be slow or large to read and to compile.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use toolhost_sandbox::{PrepareError, PreparedTool, Sandbox};
use toolhost_tests::process_usage::ProcessUsage;
use toolhost_tests::{invocation, nothing, own_sandbox};

use super::wat::{component, own};

/// A generous bound that tells seconds from hours.
const LATE: Duration = Duration::from_secs(60);

/// Memory that compiling any one of them may take.
const MOST_MEMORY: u64 = 3 << 30;

/// Compiles a bomb: it loads or is refused, and in time; the sandbox goes on either way.
async fn survived(what: &str, bytes: Vec<u8>) -> Result<PreparedTool, PrepareError> {
    let own = own();
    let (started, before) = (Instant::now(), ProcessUsage::now().peak);
    let prepared = own.prepare(bytes).await;
    let (took, grown) = (started.elapsed(), ProcessUsage::now().peak - before);
    eprintln!(
        "{what}: {:?}, {} ms, {} MiB",
        prepared.as_ref().err().map(ToString::to_string),
        took.as_millis(),
        grown >> 20
    );
    assert!(took < LATE, "{what}: {took:?}");
    assert!(grown < MOST_MEMORY, "{what}: {grown}");
    runs(&own).await;
    prepared.map(|(tool, _)| tool)
}

async fn runs(own: &Sandbox) {
    let (tool, _) = own.prepare(component("answer", "")).await.unwrap();
    let report = tool.call(invocation("run", &nothing(), None)).await;
    assert!(report.outcome.is_ok(), "{report:?}");
}

/// A component that runs, with this function in a module beside it.
fn beside(function: &str) -> Vec<u8> {
    component("answer", &format!("(core module (func {function}))"))
}

#[tokio::test]
async fn blocks_nested_fifty_thousand_deep_are_survived() {
    const DEEP: usize = 50_000;
    for (what, begin) in [
        ("blocks", "block "),
        ("loops", "loop "),
        ("ifs", "i32.const 1 if "),
    ] {
        let nested = format!("{} {}", begin.repeat(DEEP), "end ".repeat(DEEP));
        let _either = survived(what, beside(&nested)).await;
    }
    let jumps = format!(
        "{} i32.const 0 br_table {} {}",
        "block ".repeat(DEEP),
        (0..DEEP).map(|n| format!("{n} ")).collect::<String>(),
        "end ".repeat(DEEP)
    );
    let _either = survived("a table of jumps", beside(&jumps)).await;
}

#[tokio::test]
async fn a_large_function_of_fifty_thousand_locals_is_survived() {
    // Each instruction of the body makes values of its own, and every local lives to its end.
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
        let _either = survived(what, beside(&body)).await;
    }
}

#[tokio::test]
async fn a_module_of_fifty_megabytes_is_read_and_one_beyond_the_limit_is_not() {
    let data = |bytes: usize| {
        let text = "x".repeat(bytes);
        component(
            "answer",
            &format!("(core module (memory 1) (data \"{text}\"))"),
        )
    };
    let loaded = survived("50 MB", data(50 << 20)).await;
    assert!(loaded.is_ok(), "{loaded:?}");
    let refused = survived("65 MB", data(65 << 20)).await.unwrap_err();
    assert!(
        matches!(refused, PrepareError::TooLarge { what: "bytes", .. }),
        "{refused:?}"
    );
}

/// Prepares what may be anything; a panic or a hang fails the test.
fn prepare_anything(own: &Sandbox, bytes: Vec<u8>) {
    let _facts = own.read_facts(&bytes);
    let _either = futures_executor::block_on(own.prepare(bytes));
    assert_eq!((own.free_places(), own.memory_in_use()), (4, 0));
}

#[test]
fn bytes_at_random_are_refused_or_loaded_and_never_a_panic() {
    let own = own_sandbox(|config| {
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
        prepare_anything(&own, noise.clone());
        prepare_anything(&own, [magic.as_slice(), &noise].concat());
        prepare_anything(&own, whole[..cut.index(whole.len())].to_vec());
        let mut flipped = whole.clone();
        for (at, bit) in flips {
            let at = at.index(flipped.len());
            flipped[at] ^= 1_u8 << bit;
        }
        prepare_anything(&own, flipped);
    });
    futures_executor::block_on(runs(&own));
}
