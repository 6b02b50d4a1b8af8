//! Workers and the server are killed and stopped at random moments while a host makes calls.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use toolhost::{ErrorCode, ToolErrorCode, ToolResult};

use super::{Site, WorkerProcess};

/// Workers at once.
const WORKERS: usize = 3;

/// Calls at once.
const CALLERS: usize = 16;

/// How long calls are made: seconds in `TOOLHOST_FLEET_SECONDS`.
#[expect(clippy::disallowed_methods, reason = "a longer run of the test")]
fn time() -> Duration {
    let seconds = std::env::var("TOOLHOST_FLEET_SECONDS");
    Duration::from_secs(seconds.map_or(12, |seconds| seconds.parse().unwrap()))
}

/// Small random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// How calls ended: how many of each kind.
#[derive(Debug, Default)]
struct Ends {
    done: usize,
    failed: BTreeMap<String, usize>,
}

fn code(result: &ToolResult) -> Option<ErrorCode> {
    result.tool_error().map(|error| error.code.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_and_none_is_done_twice_when_processes_are_killed() {
    let Some(mut site) = Site::start() else {
        return;
    };
    let mut workers: Vec<WorkerProcess> = (0..WORKERS).map(|_| site.worker(&[])).collect();
    site.wait_for_workers(WORKERS);
    let origin = site.origin().await;
    let (is_over, next) = (AtomicBool::new(false), AtomicUsize::new(0));
    let callers = (0..CALLERS).map(|_| async {
        let mut made = Vec::new();
        while !is_over.load(Relaxed) {
            let number = next.fetch_add(1, Relaxed);
            let tool = if number % 2 == 0 { "kept" } else { "direct" };
            let path = format!("{tool}-{number}");
            let result = origin.append(&format!("{tool}__run"), &path).await;
            made.push((path, result));
        }
        made
    });
    let callers = futures_util::future::join_all(callers);
    let mut random = Random(0x5eed_cafe_f00d_0001);
    let killer = async {
        let began = Instant::now();
        let (mut kills, mut stops) = (0, 0);
        while began.elapsed() < time() {
            tokio::time::sleep(Duration::from_millis(200 + random.below(800))).await;
            let which = usize::try_from(random.below(WORKERS as u64)).unwrap();
            match random.below(8) {
                0 => {
                    site.server.kill();
                    tokio::time::sleep(Duration::from_millis(random.below(1_000))).await;
                    site.server.start_again();
                }
                // For longer than its lease: its calls run elsewhere meanwhile.
                1 => {
                    workers[which].signal(Signal::STOP);
                    tokio::time::sleep(Duration::from_millis(5_500)).await;
                    workers[which].signal(Signal::CONT);
                    stops += 1;
                }
                2 => {
                    workers[which].signal(Signal::STOP);
                    tokio::time::sleep(Duration::from_millis(random.below(1_000))).await;
                    workers[which].signal(Signal::CONT);
                }
                _ => {
                    workers[which] = site.worker(&[]);
                    kills += 1;
                }
            }
        }
        is_over.store(true, Relaxed);
        (kills, stops)
    };
    let (made, (kills, stops)) = tokio::join!(callers, killer);
    let made: Vec<_> = made.into_iter().flatten().collect();
    // What is delivered again late changes nothing.
    tokio::time::sleep(Duration::from_secs(11)).await;
    let mut ends = Ends::default();
    for (path, result) in &made {
        let size = origin.size(path);
        match code(result) {
            None => {
                assert_eq!(size, Some(1), "{path}: {result:?}");
                ends.done += 1;
            }
            Some(code) => {
                // What a call that failed did in place stays; what was kept apart does not.
                let most = u64::from(path.starts_with("direct"));
                assert!(
                    size.unwrap_or_default() <= most,
                    "{path}: {size:?} {result:?}"
                );
                assert!(
                    !path.starts_with("kept")
                        || code != ErrorCode::Host(ToolErrorCode::Interrupted),
                    "{path} may run again: {result:?}"
                );
                *ends.failed.entry(code.to_string()).or_default() += 1;
            }
        }
    }
    println!(
        "{} calls, {kills} kills, {stops} stops: {ends:?}",
        made.len()
    );
    assert!(ends.done > 50 && kills > 0, "{ends:?}");
    // A call that ran in place is interrupted with its worker; nothing else fails.
    assert!(
        ends.failed.keys().all(|code| code == "E_TOOL_INTERRUPTED"),
        "{ends:?}"
    );
}
