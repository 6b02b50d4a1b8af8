//! Prints the table of base tools: `helper base-tools [--write]`.
//!
//! For each built component: its size, the time to load it without a cache and with one, and the time of
//! a call. `--write` writes the table to docs/base-tools.md.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program of the tests: what cannot go on fails loudly"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost_sandbox::{
    CacheConfig, Limits, PreparedTool, Sandbox, SandboxConfig, Workdir, WorkdirRules,
};
use toolhost_tests::{invocation, root};

/// Number of warm calls, of which the median is printed.
const CALLS: usize = 201;

/// The markers around the table in the page.
const BEGIN: &str = "<!-- measured: cargo xtask base-tools --write -->\n";
const END: &str = "<!-- end -->\n";

/// A base tool and a typical call.
struct Tool {
    name: &'static str,
    language: &'static str,
    handler: &'static str,
    input: Value,
}

fn tools() -> Vec<Tool> {
    let tool = |name, language, handler, input| Tool {
        name,
        language,
        handler,
        input,
    };
    vec![
        tool(
            "bash",
            "Rust",
            "exec",
            json!({"command": "sort < data.csv | head -2 > out"}),
        ),
        tool("file-system", "Rust", "read", json!({"path": "data.csv"})),
        // The tool refuses this URL, so that the measurement has no network time.
        tool(
            "http-fetch",
            "Rust",
            "get",
            json!({"url": "ftp://nowhere.invalid/"}),
        ),
        tool(
            "json-query",
            "Rust",
            "query",
            json!({"query": ".n | add", "json": "{\"n\": [1, 2]}"}),
        ),
        tool("wait", "Rust", "seconds", json!({"seconds": 0})),
        tool(
            "text-transform",
            "TypeScript",
            "case",
            json!({"text": "hi", "to": "upper"}),
        ),
        tool(
            "csv-stats",
            "Python",
            "describe",
            json!({"path": "data.csv"}),
        ),
    ]
}

/// Returns the built component of a tool: among the guests, or beneath its own folder.
fn component(tool: &Tool) -> Option<PathBuf> {
    let built = root("target/guests").join(format!("{}.wasm", tool.name));
    if built.is_file() {
        return Some(built);
    }
    let language = tool.language.to_lowercase();
    newest(&root("guest-examples").join(language).join(tool.name))
}

/// Returns the newest component beneath a folder.
fn newest(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let found = entries.filter_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            (entry.file_name() != "node_modules")
                .then(|| newest(&path))
                .flatten()
        } else {
            path.extension()
                .is_some_and(|it| it == "wasm")
                .then_some(path)
        }
    });
    found.max_by_key(|path| std::fs::metadata(path).and_then(|it| it.modified()).ok())
}

/// Returns a sandbox with its own cache.
fn sandbox(top: &Path) -> Sandbox {
    let mut config = SandboxConfig::default();
    config.cache = Some(CacheConfig::new(top.join("cache"), top.join("cache.key")));
    Sandbox::new(config).expect("a sandbox starts")
}

async fn prepare(top: &Path, bytes: &[u8]) -> Result<(PreparedTool, Duration), String> {
    let sandbox = sandbox(top);
    let started = Instant::now();
    let prepared = sandbox.prepare(bytes.to_vec()).await;
    let took = started.elapsed();
    let (tool, _) = prepared.map_err(|error| error.to_string())?;
    Ok((tool, took))
}

/// Returns the median time of a call, after a warm-up call.
async fn warm(tool: &PreparedTool, tool_call: &Tool, workdir: &Workdir) -> Duration {
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..=CALLS {
        let mut call = invocation(tool_call.handler, &tool_call.input, None);
        call.workdir = Some(workdir.clone());
        call.limits = Limits::default();
        let started = Instant::now();
        let _ = tool.call(call).await;
        times.push(started.elapsed());
    }
    times.remove(0);
    times.sort();
    times.get(CALLS / 2).copied().unwrap_or_default()
}

/// Returns one row of the table.
async fn row(tool: &Tool) -> String {
    let (name, language) = (tool.name, tool.language);
    let Some(path) = component(tool) else {
        return format!("| `{name}` | {language} | not built | | | |");
    };
    let bytes = std::fs::read(path).expect("the component is read");
    let size = bytes.len() as f64 / 1e6;
    let top = tempfile::tempdir().expect("a temporary directory");
    let cold = match prepare(top.path(), &bytes).await {
        Ok((_, cold)) => cold.as_secs_f64(),
        Err(reason) => {
            return format!(
                "| `{name}` | {language} | {size:.2} MB | does not load: {reason} | | |"
            );
        }
    };
    let (prepared, cached) = prepare(top.path(), &bytes)
        .await
        .expect("what was compiled is found again");
    let work = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(work.path().join("data.csv"), "name,n\nb,2\na,1\n").expect("it is written");
    let workdir = sandbox(top.path())
        .open_workdir(work.path(), &WorkdirRules::default())
        .expect("it opens");
    let call = warm(&prepared, tool, &workdir).await.as_secs_f64() * 1e3;
    let cached = cached.as_secs_f64() * 1e3;
    format!(
        "| `{name}` | {language} | {size:.2} MB | {cold:.2} s | {cached:.1} ms | {call:.2} ms |"
    )
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(arguments: &[String]) {
    let mut table = String::from(
        "| tool | written in | component | first load | load from the cache | call |\n\
         |---|---|---|---|---|---|\n",
    );
    for tool in tools() {
        writeln!(table, "{}", row(&tool).await).expect("a text takes it");
    }
    print!("{table}");
    if arguments.iter().any(|word| word == "--write") {
        let path = root("docs/base-tools.md");
        let page = std::fs::read_to_string(&path).expect("the page is read");
        let (before, rest) = page.split_once(BEGIN).expect("the page has a table");
        let (_, after) = rest.split_once(END).expect("the table has an end");
        let page = format!("{before}{BEGIN}{table}{END}{after}");
        std::fs::write(path, page).expect("the page is written");
    }
}
