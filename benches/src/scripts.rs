//! Measures programs that call tools, beside the same calls made by the runtime.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::{Handle, Runtime};
use toolhost::{Host, Policy, Step, ToolStatus};
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use crate::measure::{call, median};

/// Calls of one program.
const CALLS: u32 = 1_000;

/// Rounds. The programs alternate, so that noise affects all of them.
const ROUNDS: usize = 9;

const POLICY: &str = "
strict: false
tools:
  caller: {tools: ['*'], limits: {toolCalls: 100000}}
  javascript: {tools: ['*']}
  python: {tools: ['*']}
";

/// A program: the tool that runs it, and its arguments.
struct Program {
    what: &'static str,
    tool: &'static str,
    args: Value,
}

/// The components that run programs: their Tool, their handler, and where they are built.
const RUNNERS: [(&str, &str, &str); 4] = [
    ("echo", "say", "guest-examples/.toolhost/echo.wasm"),
    ("caller", "run", "target/guests/call_tools.wasm"),
    (
        "javascript",
        "script",
        "guest-examples/typescript/javascript/.toolhost/javascript.wasm",
    ),
    (
        "python",
        "script",
        "guest-examples/python/python/.toolhost/python.wasm",
    ),
];

fn programs() -> Vec<Program> {
    let many = |at_once: u32| {
        json!({"steps": [{"do": "many", "tool": "echo__say", "args": {"text": "hello"},
            "times": CALLS, "atOnce": at_once}]})
    };
    let program = |what, tool, args| Program { what, tool, args };
    let code = |code: &str| json!({ "code": code });
    vec![
        program("Rust, nothing", "caller__run", json!({"steps": []})),
        program("Rust, one after the other", "caller__run", many(1)),
        program("Rust, 16 at once", "caller__run", many(16)),
        program("JavaScript, nothing", "javascript__script", code("")),
        program(
            "JavaScript, one after the other",
            "javascript__script",
            code("for (let i = 0; i < 1000; i++) await tools['echo__say']({text: 'hello'})"),
        ),
        program(
            "JavaScript, 16 at once",
            "javascript__script",
            code(
                "for (let i = 0; i < 1000; i += 16) await Promise.all(Array.from({length: Math.min(16, 1000 - i)}, () => tools['echo__say']({text: 'hello'})))",
            ),
        ),
        program("Python, nothing", "python__script", code("")),
        program(
            "Python, one after the other",
            "python__script",
            code("for i in range(1000): await tools['echo__say'](text='hello')"),
        ),
        program(
            "Python, 16 at once",
            "python__script",
            code(
                "for i in range(0, 1000, 16): await asyncio.gather(*[tools['echo__say'](text='hello') for _ in range(min(16, 1000 - i))])",
            ),
        ),
    ]
}

/// Runs a program once. Returns how long it took, or why it failed.
fn run(runtime: &Runtime, step: &Step, program: &Program) -> Result<Duration, String> {
    let call = call(program.tool, program.args.clone());
    let started = Instant::now();
    let result = runtime.block_on(step.execute_without_message(call));
    let took = started.elapsed();
    if result.status() == ToolStatus::Ok {
        Ok(took)
    } else {
        Err(format!("{:?}", result.tool_error()))
    }
}

/// Makes the calls of a program from the runtime.
fn run_in_runtime(runtime: &Runtime, step: &Arc<Step>) -> Duration {
    let call = call("echo__say", json!({"text": "hello"}));
    let started = Instant::now();
    runtime.block_on(async {
        for _ in 0..CALLS {
            let result = step.execute_without_message(call.clone()).await;
            assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
        }
    });
    started.elapsed()
}

/// Writes a bundle of the components that are built.
fn write_bundle(folder: &Path) {
    let mut documents = Vec::new();
    for (tool, handler, path) in RUNNERS {
        let file = format!("{tool}.wasm");
        if std::fs::copy(root(path), folder.join(&file)).is_err() {
            println!("  {path} is not built: no row for {tool}");
            continue;
        }
        let spec = json!({"entry": format!("./{file}"), "exports": [{"name": handler}]});
        let document = json!({"apiVersion": "goondan.ai/v1", "kind": "Tool",
            "metadata": {"name": tool}, "spec": spec});
        documents.push(document.to_string());
    }
    std::fs::write(folder.join("goondan.yaml"), documents.join("\n---\n")).unwrap();
}

/// Opens a step with the components that are built.
pub(crate) fn step(runtime: &Handle, work: &Path) -> Arc<Step> {
    let bundle = tempfile::tempdir().unwrap();
    write_bundle(bundle.path());
    let host = Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .policy(Policy::parse(POLICY, "policy.yaml").unwrap())
        .build()
        .unwrap();
    let workdir = host.workdir(work).unwrap();
    let loaded = runtime.block_on(host.load(bundle.path())).unwrap();
    let agent = loaded.only_agent().unwrap();
    Arc::new(runtime.block_on(open_step(&agent, "bench", &workdir)))
}

/// Prints a row for each program, or for those with this word.
pub(crate) fn print(runtime: &Runtime, work: &Path, only: Option<&String>, rounds: Option<usize>) {
    let step = step(runtime.handle(), work);
    let wanted = |program: &Program| only.is_none_or(|word| program.what.contains(word.as_str()));
    let programs: Vec<Program> = programs().into_iter().filter(wanted).collect();
    let mut of_runtime = Vec::new();
    let mut times: Vec<Vec<f64>> = programs.iter().map(|_| Vec::new()).collect();
    let mut failures = vec![None; programs.len()];
    for _ in 0..=rounds.unwrap_or(ROUNDS) {
        of_runtime.push(run_in_runtime(runtime, &step).as_secs_f64() * 1e3);
        for ((program, times), failure) in programs.iter().zip(&mut times).zip(&mut failures) {
            match run(runtime, &step, program) {
                Ok(took) => times.push(took.as_secs_f64() * 1e3),
                Err(error) => *failure = Some(error),
            }
        }
    }
    let of_runtime = median(of_runtime);
    println!(
        "{CALLS} calls of an echo by a program, and compared with the same calls of the runtime"
    );
    println!(
        "  {:<34} {of_runtime:>8.2} ms",
        "runtime, one after the other"
    );
    for ((program, times), failure) in programs.iter().zip(times).zip(failures) {
        match failure {
            Some(failure) => println!("  {:<34} {failure}", program.what),
            None => {
                let took = median(times);
                let ratio = took / of_runtime;
                println!("  {:<34} {took:>8.2} ms   {ratio:.2} ×", program.what);
            }
        }
    }
}
