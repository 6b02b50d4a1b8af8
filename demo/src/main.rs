//! Calls real tools, good and hostile, and prints what an agent gets: `cargo xtask demo`.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost::{Agent, Host, Limits, Policy, Step, ToolCall, ToolResult, Workdir};

type Error = Box<dyn std::error::Error>;

/// The arguments: `--bundle FILE --guests DIR`.
struct Paths {
    bundle: PathBuf,
    guests: PathBuf,
}

impl Paths {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Error> {
        let (mut bundle, mut guests) = (None, None);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bundle" => bundle = words.next().map(PathBuf::from),
                "--guests" => guests = words.next().map(PathBuf::from),
                other => return Err(format!("unknown argument {other}").into()),
            }
        }
        Ok(Self {
            bundle: bundle.ok_or("run it as `cargo xtask demo`")?,
            guests: guests.ok_or("run it as `cargo xtask demo`")?,
        })
    }
}

/// The manifest of the hostile tools.
const HOSTILE: &str = "\
apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: spin}
spec: {entry: ./spin_forever.wasm, exports: [{name: run}]}
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: eat}
spec: {entry: ./eat_memory.wasm, exports: [{name: run}]}
";

struct Demo {
    step: Step,
    calls: u32,
}

impl Demo {
    async fn of(agent: &Agent, workdir: Workdir) -> Result<Self, Error> {
        let turn = agent.instance("demo", workdir).open_turn("turn-1").await?;
        let step = turn.open_step().await?;
        Ok(Self { step, calls: 0 })
    }

    async fn call(&mut self, name: &str, args: Value) -> ToolResult {
        self.calls += 1;
        let args = args.as_object().cloned().unwrap_or_default();
        let call = ToolCall::new(format!("call_{}", self.calls), name, args);
        self.step.execute_without_message(call).await
    }

    async fn call_and_print(&mut self, title: &str, name: &str, args: Value) -> ToolResult {
        println!("\n● {title}\n  {name} {}", short(&args.to_string(), 100));
        let result = self.call(name, args).await;
        if let Some(output) = result.output() {
            println!("  ok: {}", short(&output.to_string(), 220));
        }
        if let Some(error) = result.tool_error() {
            println!("  {}: {}", error.code, short(&error.message, 220));
            println!("  next: {}", error.suggestion.as_deref().unwrap_or("none"));
        }
        result
    }
}

fn short(text: &str, most: usize) -> String {
    let kept: String = text.chars().take(most).collect();
    if kept.len() < text.len() {
        format!("{kept}…")
    } else {
        kept
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let paths = Paths::parse(std::env::args().skip(1))?;
    let top = tempfile::tempdir()?;
    let work = top.path().join("work");
    std::fs::create_dir(&work)?;

    let started = Instant::now();
    let host = Host::builder().build()?;
    let bundle = host.load(&paths.bundle).await?;
    println!(
        "toolhost: {} loaded in {} ms",
        name_of(&paths.bundle),
        started.elapsed().as_millis()
    );

    let workdir = host.workdir(&work)?;
    let mut demo = Demo::of(&bundle.agent("coder")?, workdir.clone()).await?;
    println!("\n● the Tool Catalog of this step, as the model gets it");
    for item in demo.step.catalog().items() {
        println!(
            "  {:<22} {}",
            item.name.as_str(),
            item.description.as_deref().unwrap_or("")
        );
    }
    calls(&mut demo, &work).await;
    hostile(&host, &paths.guests, top.path(), &workdir).await?;
    time_calls(&mut demo).await;
    Ok(())
}

async fn calls(demo: &mut Demo, work: &Path) {
    let content = json!({"path": "notes/a.txt", "content": "written by a tool"});
    let written = demo
        .call_and_print("write a file, then read it", "file-system__write", content)
        .await;
    demo.call_and_print("…", "file-system__read", json!({"path": "notes/a.txt"}))
        .await;
    let on_host = std::fs::read_to_string(work.join("notes/a.txt"));
    println!("  on the host: workdir/notes/a.txt holds {on_host:?}");
    println!("  receipt of the write: {}", receipt(&written));

    let title = "a call outside the catalog is refused";
    demo.call_and_print(title, "unknown__action", json!({}))
        .await;
    let title = "arguments that do not match the schema do not reach the tool";
    demo.call_and_print(title, "file-system__write", json!({"path": 7, "mode": "x"}))
        .await;
    let title = "a path out of the workdir: the host's /etc/passwd";
    demo.call_and_print(
        title,
        "file-system__read",
        json!({"path": "../../../etc/passwd"}),
    )
    .await;
    let title = "a 5,000-character error is cut to the Tool's errorMessageLimit";
    let result = demo
        .call_and_print(title, "text__fail", json!({"length": 5000}))
        .await;
    let units = result
        .tool_error()
        .map_or(0, |e| e.message.encode_utf16().count());
    println!("  the model reads {units} characters of it");
}

/// Calls tools that misbehave, under an operator's policy.
async fn hostile(host: &Host, guests: &Path, top: &Path, workdir: &Workdir) -> Result<(), Error> {
    let dir = top.join("hostile");
    std::fs::create_dir(&dir)?;
    std::fs::write(dir.join("goondan.yaml"), HOSTILE)?;
    for guest in ["spin_forever.wasm", "eat_memory.wasm"] {
        std::fs::copy(guests.join(guest), dir.join(guest))?;
    }
    let policy = "defaults: {limits: {deadlineMs: 500, memoryBytes: 64MiB}}";
    let strict = Host::builder()
        .sandbox(host.sandbox().clone())
        .policy(Policy::parse(policy, "policy.yaml")?)
        .build()?;
    let agent = strict.load(&dir).await?.only_agent()?;
    let mut demo = Demo::of(&agent, workdir.clone()).await?;
    println!("\n● the operator's policy: {policy}");
    let started = Instant::now();
    let stopped = demo
        .call_and_print(
            "an endless loop is stopped at its deadline",
            "spin__run",
            json!({}),
        )
        .await;
    println!(
        "  answered after {} ms; receipt: {}",
        started.elapsed().as_millis(),
        receipt(&stopped)
    );
    let stopped = demo
        .call_and_print(
            "a tool that allocates without end is stopped at its memory limit",
            "eat__run",
            json!({}),
        )
        .await;
    println!("  receipt: {}", receipt(&stopped));
    Ok(())
}

async fn time_calls(demo: &mut Demo) {
    const CALLS: u32 = 2000;
    let mut each = Duration::ZERO;
    for _ in 0..2 {
        let started = Instant::now();
        for _ in 0..CALLS {
            demo.call("text__upper", json!({"text": "hello"})).await;
        }
        each = started.elapsed() / CALLS;
    }
    let limits = Limits::default();
    println!(
        "\n● a call, in a new instance each time: {} µs",
        each.as_micros()
    );
    println!(
        "  every call: {} s deadline, {} MiB memory, {} MiB written, no network, no environment",
        limits.deadline.as_secs(),
        limits.memory_bytes >> 20,
        limits.disk_bytes >> 20
    );
}

fn receipt(result: &ToolResult) -> String {
    let usage = result.usage();
    format!(
        "{:.1} ms, {} KiB memory, {} bytes written",
        usage.wall.as_secs_f64() * 1e3,
        usage.memory_peak >> 10,
        usage.bytes_written
    )
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
