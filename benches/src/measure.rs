//! What several measurements share.

use std::path::Path;

use serde_json::Value;
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
