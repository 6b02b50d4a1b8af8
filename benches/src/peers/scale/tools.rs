//! 1,000 tools, each with a component of its own.
//!
//! The components are the guest `echo` with a custom section that holds a number, so that each has its
//! own digest, its own artifact and its own code in memory. The sections are the same in each run, and
//! the cache in `target/peers` is kept: only the first run compiles.

use std::path::Path;
use std::time::Instant;

use serde_json::json;
use tokio::runtime::Runtime;
use toolhost::{Host, Sandbox, SandboxConfig, Step, ToolStatus, sandbox::CacheConfig};
use toolhost_tests::test_host::open_step;
use toolhost_tests::{guest, root};

use super::row::{ScaleRow, mib, rss, seconds_since};
use crate::measure::{call, median};
use crate::peers::spread::{digits, micros};

const TOOLS: usize = 1_000;

/// Tools of a bundle, the most that one may have.
const TOOLS_OF_BUNDLE: usize = 100;

/// Calls of each tool that are measured after its first.
const CALLS: usize = 10;

/// Loads all tools, and so compiles those that the cache has not.
pub(super) fn compile(runtime: &Runtime) -> Vec<ScaleRow> {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    Tools::load(runtime, &host(), folder.path(), TOOLS);
    println!("loaded in {}", seconds_since(started));
    Vec::new()
}

pub(super) fn measure(runtime: &Runtime) -> Vec<ScaleRow> {
    let (alone, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let alone = Tools::load(runtime, &host(), alone.path(), 1);
    alone.call(runtime, TOOLS);

    let host = host();
    write_bundles(folder.path(), TOOLS);
    let before = rss();
    let started = Instant::now();
    let all = Tools::load_written(runtime, &host, folder.path(), TOOLS);
    let took = seconds_since(started);
    let loaded = rss();
    let first = all.call(runtime, TOOLS);
    let called = rss();
    let (mut ratios, mut times) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        let one = alone.call(runtime, TOOLS);
        let time = all.call(runtime, TOOLS);
        ratios.push(time / one);
        times.push(time);
    }
    vec![ScaleRow {
        name: "1,000 tools loaded, each a component of its own".to_owned(),
        result: format!(
            "loaded from the cache in {took}; resident memory {} before, {} loaded, {} once all were \
             called; first call of each {}, later calls {}: {} × those of a host with one tool",
            mib(before),
            mib(loaded),
            mib(called),
            micros(first),
            micros(median(times)),
            digits(median(ratios)),
        ),
    }]
}

/// Tools of one host, in bundles.
struct Tools {
    /// A step for each bundle.
    steps: Vec<Step>,
    tools: usize,
}

impl Tools {
    fn load(runtime: &Runtime, host: &Host, folder: &Path, tools: usize) -> Self {
        write_bundles(folder, tools);
        Self::load_written(runtime, host, folder, tools)
    }

    fn load_written(runtime: &Runtime, host: &Host, folder: &Path, tools: usize) -> Self {
        let workdir = folder.join("workdir");
        std::fs::create_dir(&workdir).unwrap();
        let workdir = host.workdir(&workdir).unwrap();
        let step = |bundle| {
            let loaded = runtime.block_on(host.load(folder.join(format!("bundle-{bundle}"))));
            let loaded = loaded.unwrap_or_else(|error| unreachable!("{error}"));
            runtime.block_on(open_step(&loaded.only_agent().unwrap(), "bench", &workdir))
        };
        let steps = (0..tools.div_ceil(TOOLS_OF_BUNDLE)).map(step).collect();
        Self { steps, tools }
    }

    /// Calls the tools in turn, and returns the microseconds of one call.
    fn call(&self, runtime: &Runtime, calls: usize) -> f64 {
        let call = |tool| call(&format!("t{tool}__say"), json!({"text": "hello"}));
        let tools: Vec<_> = (0..self.tools).map(|tool| (tool, call(tool))).collect();
        let started = Instant::now();
        runtime.block_on(async {
            for (tool, call) in tools.iter().cycle().take(calls) {
                let step = &self.steps[tool / TOOLS_OF_BUNDLE];
                let result = step.execute_without_message(call.clone()).await;
                assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
            }
        });
        started.elapsed().as_secs_f64() * 1e6 / calls as f64
    }
}

fn host() -> Host {
    let folder = root("target/peers");
    let mut config = SandboxConfig::default();
    config.cache = Some(CacheConfig::new(
        folder.join("cache"),
        folder.join("state/cache.key"),
    ));
    Host::builder()
        .sandbox(Sandbox::new(config).unwrap())
        .build()
        .unwrap()
}

/// Writes bundles with so many tools of all together.
fn write_bundles(folder: &Path, tools: usize) {
    let echo = guest("echo");
    for first in (0..tools).step_by(TOOLS_OF_BUNDLE) {
        let bundle = folder.join(format!("bundle-{}", first / TOOLS_OF_BUNDLE));
        std::fs::create_dir(&bundle).unwrap();
        let mut documents = Vec::new();
        for tool in first..tools.min(first + TOOLS_OF_BUNDLE) {
            let entry = format!("t{tool}.wasm");
            std::fs::write(bundle.join(&entry), numbered(&echo, tool)).unwrap();
            let document = json!({
                "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": format!("t{tool}")},
                "spec": {"entry": format!("./{entry}"), "exports": [{"name": "say"}]},
            });
            documents.push(document.to_string());
        }
        std::fs::write(bundle.join("goondan.yaml"), documents.join("\n---\n")).unwrap();
    }
}

/// Returns a component with a number in a custom section.
fn numbered(component: &[u8], number: usize) -> Vec<u8> {
    let text = format!("{number:04}");
    // A custom section: its id, its size, its name and what it holds. Both lengths fit into one byte.
    let mut section = vec![0, 7 + text.len() as u8, 6];
    section.extend_from_slice(b"number");
    section.extend_from_slice(text.as_bytes());
    [component, &section].concat()
}
