//! What several measurements share.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use toolhost::{
    AssistantMessage, Host, Sandbox, SandboxConfig, Step, ToolCall, ToolStatus,
    sandbox::CacheConfig,
};

/// Returns a call of a tool. `args` is a JSON object.
pub(crate) fn call(name: &str, args: Value) -> ToolCall {
    let Value::Object(args) = args else {
        unreachable!("arguments are an object")
    };
    ToolCall::new("call-1", name, args)
}

/// Returns the middle value; `values` holds at least one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Has `in_flight` callers call a tool for a time. Returns how many calls were made, and how long that took.
pub(crate) fn calls_for(
    time: Duration,
    runtime: &Runtime,
    step: &Arc<Step>,
    call: &ToolCall,
    in_flight: usize,
) -> (f64, Duration) {
    let started = Instant::now();
    let calls: u64 = runtime.block_on(async {
        let callers: Vec<_> = (0..in_flight)
            .map(|_| {
                let (step, call) = (Arc::clone(step), call.clone());
                tokio::spawn(async move {
                    let message = AssistantMessage::for_call(&call);
                    let mut calls = 0;
                    while started.elapsed() < time {
                        let result = step.execute(call.clone(), &message).await;
                        assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
                        calls += 1;
                    }
                    calls
                })
            })
            .collect();
        let mut sum = 0;
        for caller in callers {
            sum += caller.await.unwrap();
        }
        sum
    });
    (calls as f64, started.elapsed())
}

/// Makes a workdir, in memory where the machine has a file system for that: on a disk, the time of a file
/// written again is mostly the disk's.
pub(crate) fn workdir() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// Returns a host, with a cache beneath a directory.
pub(crate) fn host(cache: Option<&Path>) -> Host {
    let cache = cache.map(|top| CacheConfig::new(top.join("cache"), top.join("state/cache.key")));
    let mut config = SandboxConfig::default();
    config.cache = cache;
    let sandbox = Sandbox::new(config).unwrap();
    Host::builder().sandbox(sandbox).build().unwrap()
}

/// Returns the processor time that this process has taken, in whole ticks of 10 ms.
pub(crate) fn processor_time() -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The second field is a name in brackets, which may hold anything; `utime` and `stime` are the
    // fourteenth and the fifteenth.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    TICK * ticks
        .map(|ticks| ticks.parse::<u32>().unwrap())
        .sum::<u32>()
}
