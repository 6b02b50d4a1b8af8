//! Calls the example tools, hostile ones too, and prints what an agent gets: `cargo xtask demo`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost::{Agent, Host, Policy, Step, ToolCall, ToolResult, Workdir, sandbox::Limits};

type Error = Box<dyn std::error::Error>;

/// The arguments of the program: `--bundle FILE --guests DIR`.
pub(crate) struct Paths {
    /// The bundle of the example tools.
    pub(crate) bundle: PathBuf,
    /// The folder of the hostile components.
    pub(crate) guests: PathBuf,
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

/// The bundle of hostile tools, which the demo writes.
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

#[tokio::main]
async fn main() -> Result<(), Error> {
    let paths = Paths::parse(std::env::args().skip(1))?;
    run(&paths, &mut std::io::stdout()).await
}

/// Runs the demo and writes its page to `out`.
pub(crate) async fn run(paths: &Paths, out: &mut dyn Write) -> Result<(), Error> {
    let top = tempfile::tempdir()?;
    let work = top.path().join("work");
    std::fs::create_dir(&work)?;

    let started = Instant::now();
    let host = Host::builder().build()?;
    let bundle = host.load(&paths.bundle).await?;
    let file = paths.bundle.file_name().unwrap_or_default();
    let (file, took) = (file.to_string_lossy(), started.elapsed().as_millis());
    writeln!(out, "toolhost: {file} loaded in {took} ms")?;

    let workdir = host.workdir(&work)?;
    let mut demo = Demo::new(&bundle.agent("coder")?, workdir.clone(), &mut *out).await?;
    demo.catalog()?;
    demo.examples(&work).await?;
    hostile(&host, &paths.guests, top.path(), &workdir, demo.out).await?;
    demo.warm_calls().await
}

/// A step of an agent, and where its calls are printed.
struct Demo<'o> {
    step: Step,
    calls: u32,
    out: &'o mut dyn Write,
}

impl<'o> Demo<'o> {
    async fn new(agent: &Agent, workdir: Workdir, out: &'o mut dyn Write) -> Result<Self, Error> {
        let turn = agent.instance("demo", workdir).open_turn("turn-1").await?;
        let step = turn.open_step().await?;
        Ok(Self {
            step,
            calls: 0,
            out,
        })
    }

    fn catalog(&mut self) -> Result<(), Error> {
        writeln!(
            self.out,
            "\n● The Tool Catalog of this step, as the model gets it"
        )?;
        for item in self.step.catalog().items() {
            let description = item.description.as_deref().unwrap_or("");
            writeln!(self.out, "  {:<22} {description}", item.name.as_str())?;
        }
        Ok(())
    }

    async fn call(&mut self, name: &str, args: Value) -> ToolResult {
        self.calls += 1;
        let args = args.as_object().cloned().unwrap_or_default();
        let call = ToolCall::new(format!("call_{}", self.calls), name, args);
        self.step.execute_without_message(call).await
    }

    /// Calls a tool and prints the result.
    async fn show(&mut self, title: &str, name: &str, args: Value) -> Result<ToolResult, Error> {
        writeln!(
            self.out,
            "\n● {title}\n  {name} {}",
            cut(&args.to_string(), 100)
        )?;
        let result = self.call(name, args).await;
        if let Some(output) = result.output() {
            writeln!(self.out, "  ok: {}", cut(&output.to_string(), 220))?;
        }
        if let Some(error) = result.tool_error() {
            writeln!(self.out, "  {}: {}", error.code, cut(&error.message, 220))?;
            let next = error.suggestion.as_deref().unwrap_or("none");
            writeln!(self.out, "  next: {next}")?;
        }
        Ok(result)
    }

    async fn examples(&mut self, work: &Path) -> Result<(), Error> {
        let args = json!({"path": "notes/a.txt", "content": "written by a tool"});
        let title = "A tool writes a file into its workdir";
        let written = self.show(title, "file-system__write", args).await?;
        let on_disk = std::fs::read_to_string(work.join("notes/a.txt"))?;
        writeln!(self.out, "  on the host, notes/a.txt contains: {on_disk}")?;
        writeln!(self.out, "  used: {}", usage(&written))?;

        let title = "A call to a tool outside the catalog is refused";
        self.show(title, "unknown__action", json!({})).await?;
        let title = "Arguments that do not match the schema never reach the tool";
        let args = json!({"path": 7, "mode": "x"});
        self.show(title, "file-system__write", args).await?;
        let title = "A tool cannot leave its workdir";
        let args = json!({"path": "../../../etc/passwd"});
        self.show(title, "file-system__read", args).await?;
        let title = "An error of 5,000 characters is cut to the tool's errorMessageLimit";
        let result = self
            .show(title, "text__fail", json!({"length": 5000}))
            .await?;
        let message = result.tool_error().map_or("", |error| &error.message);
        let units = message.encode_utf16().count();
        writeln!(self.out, "  the model reads {units} characters of it")?;
        Ok(())
    }

    async fn warm_calls(&mut self) -> Result<(), Error> {
        const CALLS: u32 = 2000;
        let mut each = Duration::ZERO;
        for _ in 0..2 {
            let started = Instant::now();
            for _ in 0..CALLS {
                self.call("text__upper", json!({"text": "hello"})).await;
            }
            each = started.elapsed() / CALLS;
        }
        let limits = Limits::default();
        writeln!(
            self.out,
            "\n● A warm call, in a fresh instance each time: {} µs\n  \
             each call: {} s deadline, {} MiB memory, {} MiB written, no network, no environment",
            each.as_micros(),
            limits.deadline.as_secs(),
            limits.memory_bytes >> 20,
            limits.disk_bytes >> 20
        )?;
        Ok(())
    }
}

/// Calls a bundle of hostile tools under an operator's policy.
async fn hostile(
    host: &Host,
    guests: &Path,
    top: &Path,
    workdir: &Workdir,
    out: &mut dyn Write,
) -> Result<(), Error> {
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
    writeln!(
        out,
        "\n● The operator's policy for the next two calls\n  {policy}"
    )?;
    let mut demo = Demo::new(&agent, workdir.clone(), out).await?;
    let started = Instant::now();
    let title = "An endless loop is stopped at its deadline";
    let stopped = demo.show(title, "spin__run", json!({})).await?;
    let (took, used) = (started.elapsed().as_millis(), usage(&stopped));
    writeln!(demo.out, "  answered after {took} ms; used: {used}")?;
    let title = "A tool that takes too much memory is stopped";
    let stopped = demo.show(title, "eat__run", json!({})).await?;
    writeln!(demo.out, "  used: {}", usage(&stopped))?;
    Ok(())
}

/// The first characters of a text.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

fn usage(result: &ToolResult) -> String {
    let usage = result.usage();
    format!(
        "{:.1} ms, {} KiB memory, {} bytes written",
        usage.wall.as_secs_f64() * 1e3,
        usage.memory_peak >> 10,
        usage.bytes_written
    )
}
