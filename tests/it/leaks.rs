//! Leak tests: the host's memory, files and threads do not grow when a call or an error is repeated a
//! thousand times.

mod admission;
mod limits;
mod listings;
mod outcomes;
mod page_faults;

use std::process::Command;
use std::time::{Duration, Instant};

use toolhost_tests::process_usage::ProcessUsage;

/// Runs a test in its own process, so that it measures only itself. nextest runs every test in its own
/// process; under another runner, the test starts a child process of itself.
pub(crate) fn alone(test: impl Future<Output = ()>) {
    const MODE: (&str, &str) = ("NEXTEST_EXECUTION_MODE", "process-per-test");
    if std::env::var(MODE.0).as_deref() == Ok(MODE.1) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).thread_keep_alive(IDLE);
        let runtime = runtime.enable_all().build().unwrap();
        return runtime.block_on(test);
    }
    let name = std::thread::current().name().unwrap().to_owned();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([&name, "--exact", "--nocapture"]);
    assert!(
        again.env(MODE.0, MODE.1).status().unwrap().success(),
        "{name}"
    );
}

/// After which idle threads of the test end. Those of a sandbox end after a second.
const IDLE: Duration = Duration::from_millis(100);

/// Repetitions of a call that takes one or two milliseconds. A tenth of them runs first as a warm-up.
pub(crate) const TIMES: usize = 1_000;

/// Largest growth of memory: 16 KiB for each of a thousand repetitions, which is less than any leaked
/// instance, file or task.
const GROWTH: u64 = 16 << 20;

/// Repeats `once`, and asserts that memory, files and threads do not grow.
pub(crate) async fn stays_flat(what: &str, times: usize, mut once: impl AsyncFnMut(usize)) {
    let started = Instant::now();
    let warm_up = (times / 10).max(3);
    for n in 0..warm_up {
        once(n).await;
    }
    let before = ProcessUsage::now();
    for n in warm_up..warm_up + times {
        once(n).await;
    }
    let mut after = ProcessUsage::now();
    // Idle threads end.
    for _ in 0..600 {
        if after.fds <= before.fds && after.threads <= before.threads {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        after = ProcessUsage::now();
    }
    let grown = after.rss.saturating_sub(before.rss) >> 10;
    eprintln!(
        "{what}: {times} times in {} ms, {grown} KiB more",
        started.elapsed().as_millis()
    );
    assert!(
        after.rss < before.rss + GROWTH,
        "{what}: {before:?}, {after:?}"
    );
    assert!(after.fds <= before.fds, "{what}: {before:?}, {after:?}");
    assert!(
        after.threads <= before.threads,
        "{what}: {before:?}, {after:?}"
    );
}
