//! What several measurements share.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use toolhost::{CacheConfig, Host, Sandbox, SandboxConfig, ToolCall};

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
    let config = SandboxConfig {
        cache,
        ..SandboxConfig::default()
    };
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
