//! Every limit of a call, reached repeatedly through `Step::execute`.

use serde_json::{Value, json};
use toolhost::{Host, Policy, Step, ToolResult, ToolStatus};
use toolhost_tests::test_host::{code, open_step, tool_call, write_bundle, yaml};
use toolhost_tests::{Work, guest, sandbox};

use super::{TIMES, alone, stays_flat};
use crate::sandbox::wat::component;

/// A call that reaches a limit.
struct Row {
    what: &'static str,
    /// A guest (a name that ends with `.wat` is text), its limits, and its n-th input.
    guest: &'static str,
    limits: &'static str,
    input: fn(usize) -> Value,
    /// The code of the result, or the error that the guest reports in its output.
    comes_to: &'static str,
    times: usize,
}

const fn row(
    what: &'static str,
    guest: &'static str,
    limits: &'static str,
    input: fn(usize) -> Value,
    comes_to: &'static str,
) -> Row {
    Row {
        what,
        guest,
        limits,
        input,
        comes_to,
        times: TIMES,
    }
}

impl Row {
    /// Sets fewer repetitions for a slow call; a leak still shows, because each such call holds much.
    const fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }
}

fn nothing(_: usize) -> Value {
    json!({})
}

/// Returns the component; eight megabytes of `large_data.wat` are data of every instance.
fn bytes(name: &str) -> Vec<u8> {
    match name.strip_suffix(".wat") {
        None => guest(name),
        Some("large_data") => {
            let data = "x".repeat(8 << 20);
            let module =
                format!("(core module $large (memory 129) (data (i32.const 0) \"{data}\"))");
            component(
                "answer",
                &format!("{module} (core instance (instantiate $large))"),
            )
        }
        Some(text) => component(text, ""),
    }
}

/// Opens a step with a tool `row-N` for each row, and `echo`; returns the bundle too. If it were removed,
/// new files of a guest could get the inode numbers of its protected files.
async fn step(rows: &[Row], work: &Work) -> (tempfile::TempDir, Step) {
    let names: Vec<_> = (0..rows.len()).map(|n| format!("row-{n}")).collect();
    let tool = |name: &'static str| -> (&str, &str, &[&str]) { (name, name, &["say"]) };
    let mut tools: Vec<(&str, &str, &[&str])> = vec![tool("echo")];
    tools.extend(
        names
            .iter()
            .map(|name| (&**name, &**name, &["run"] as &[&str])),
    );
    let bundle = tempfile::tempdir().unwrap();
    write_bundle(bundle.path(), &yaml(&tools), &["echo"]);
    let mut limits = serde_json::Map::new();
    for (name, row) in names.iter().zip(rows) {
        std::fs::write(bundle.path().join(format!("{name}.wasm")), bytes(row.guest)).unwrap();
        let own: Value = serde_json::from_str(&format!("{{{}}}", row.limits)).unwrap();
        limits.insert(name.clone(), json!({"limits": own}));
    }
    let policy = Policy::parse(&json!({"tools": limits}).to_string(), "policy.yaml").unwrap();
    let host = Host::builder().sandbox(sandbox()).policy(policy);
    let loaded = host.build().unwrap().load(bundle.path()).await.unwrap();
    let agent = loaded.only_agent().unwrap();
    let step = open_step(&agent, "instance", &work.workdir).await;
    (bundle, step)
}

fn result_code(result: &ToolResult) -> String {
    match result.output() {
        Some(output) => output["error"].as_str().unwrap_or("ok").to_owned(),
        None => code(result),
    }
}

async fn stay_flat(rows: &[Row]) {
    let work = Work::new();
    let (_bundle, step) = step(rows, &work).await;
    let free = sandbox().free_call_slots();
    for (index, row) in rows.iter().enumerate() {
        let name = format!("row-{index}__run");
        stays_flat(row.what, row.times, async |n| {
            let result = step
                .execute_without_message(tool_call(&name, (row.input)(n)))
                .await;
            assert_eq!(
                result_code(&result),
                row.comes_to,
                "{}: {result:?}",
                row.what
            );
        })
        .await;
        let echo = tool_call("echo__say", json!({"after": row.what}));
        let result = step.execute_without_message(echo).await;
        assert_eq!(result.status(), ToolStatus::Ok, "{}", row.what);
        assert_eq!(result.output().unwrap()["after"], row.what);
        assert_eq!(sandbox().free_call_slots(), free, "{}", row.what);
        assert_eq!(sandbox().memory_in_use(), 0, "{}", row.what);
    }
}

#[test]
fn limits_of_memory_tables_and_instances_leak_nothing() {
    alone(stay_flat(&[
        row(
            "memory",
            "eat_memory",
            r#""memoryBytes": "4MiB""#,
            nothing,
            "E_TOOL_OUT_OF_MEMORY",
        ),
        row(
            "refused memory that the guest can do without",
            "eat_memory",
            r#""memoryBytes": "4MiB""#,
            |_| json!({"polite": true}),
            "ok",
        ),
        row(
            "many memories",
            "grow_memories.wat",
            "",
            nothing,
            "E_TOOL_OUT_OF_MEMORY",
        ),
        row("a table", "grow_table.wat", "", nothing, "ok"),
        row("many tables", "grow_tables.wat", "", nothing, "ok"),
        row(
            "instances",
            "large_data.wat",
            r#""instances": 1"#,
            nothing,
            "E_TOOL_TRAP",
        ),
        row("a large data segment", "large_data.wat", "", nothing, "ok"),
        row(
            "a large data segment beyond the memory",
            "large_data.wat",
            r#""memoryBytes": "4MiB""#,
            nothing,
            "E_TOOL_OUT_OF_MEMORY",
        ),
        row("the stack", "recurse", "", nothing, "E_TOOL_TRAP"),
    ]));
}

#[test]
fn limits_of_host_calls_and_results_leak_nothing() {
    alone(stay_flat(&[
        row(
            "random bytes",
            "ask_random",
            "",
            |_| json!({"bytes": u64::MAX}),
            "E_TOOL_TRAP",
        ),
        row(
            "bytes of a host call",
            "flood_output",
            r#""hostcallBytes": "256KiB""#,
            |_| json!({"bytes": 1 << 20}),
            "E_TOOL_OUTPUT_TOO_LARGE",
        ),
        row(
            "bytes of the answer",
            "flood_output",
            r#""outputBytes": "64KiB""#,
            |_| json!({"bytes": 1 << 20}),
            "E_TOOL_OUTPUT_TOO_LARGE",
        ),
        row(
            "depth of the answer",
            "echo_raw",
            "",
            |_| json!({"depth": 100_000}),
            "E_TOOL_INVALID_OUTPUT",
        ),
        row(
            "an answer that is no JSON",
            "echo_raw",
            "",
            |_| json!({"output": "{not json"}),
            "E_TOOL_INVALID_OUTPUT",
        ),
        row(
            "log records and their bytes",
            "flood_log",
            r#""logRecords": 100, "logRecordBytes": "512B""#,
            |_| json!({"records": 300, "bytes": 4_000}),
            "ok",
        ),
        row(
            "log messages beyond a host call's bytes",
            "flood_log",
            r#""hostcallBytes": "256KiB""#,
            |_| json!({"records": 10, "bytes": 1 << 20}),
            "E_TOOL_OUTPUT_TOO_LARGE",
        ),
        row(
            "stdout and stderr",
            "flood_stdout",
            r#""stdioBytes": "8KiB""#,
            |_| json!({"bytes": 100_000}),
            "ok",
        ),
        // 10 MB are created and passed to the host.
        row(
            "an error of 10 MB",
            "forge_host_code",
            "",
            |_| json!({"bytes": 10_000_000}),
            "E_TOOL_OUTPUT_TOO_LARGE",
        )
        .times(TIMES / 10),
        row(
            "a handle that is too long",
            "pending",
            "",
            |_| json!({"bytes": 2_000}),
            "E_TOOL_INVALID_OUTPUT",
        ),
        row(
            "arguments that are too long",
            "echo_raw",
            r#""inputBytes": "1KiB""#,
            |_| json!({"output": "x".repeat(100_000)}),
            "E_TOOL_INVALID_ARGS",
        ),
        row("a denial", "dial_out", "", |_| json!({"times": 20}), "ok"),
        // A hundred thousand host calls take a third of a second.
        row(
            "a denial, a hundred thousand times in one call",
            "dial_out",
            "",
            |_| json!({"times": 100_000}),
            "ok",
        )
        .times(2),
    ]));
}

#[test]
fn reaching_file_limits_leaks_nothing() {
    alone(stay_flat(&[
        row(
            "bytes written",
            "write_bytes",
            r#""diskBytes": "10000B""#,
            |_| json!({"path": "/written", "bytes": 100_000}),
            "EIO",
        ),
        row(
            "a size",
            "write_bytes",
            r#""diskBytes": "10000B""#,
            |_| json!({"path": "/sized", "bytes": 1_u64 << 50, "mode": "set_size"}),
            "ENOSPC",
        ),
        row(
            "files made",
            "make_files",
            r#""files": 20"#,
            |n| json!({"dir": format!("/made-{n}"), "count": 100}),
            "ENOSPC",
        ),
        row(
            "open files",
            "open_many",
            r#""openFiles": 64"#,
            |_| json!({"count": 100}),
            "ENOMEM",
        ),
        row(
            "growth of the workdir",
            "write_bytes",
            r#""workdirBytes": "1KiB""#,
            |_| json!({"path": "/grown", "bytes": 100_000, "mode": "append"}),
            "ENOSPC",
        ),
    ]));
}

#[test]
fn reaching_handle_limits_leaks_nothing() {
    const FEW: &str = r#""handles": 200, "openFiles": 100"#;
    fn hoard(kind: &str) -> Value {
        json!({"count": 1_000_000, "kind": kind})
    }
    alone(stay_flat(&[
        row(
            "pollables",
            "hoard_handles",
            FEW,
            |_| hoard("pollable"),
            "E_TOOL_TRAP",
        ),
        row(
            "streams",
            "hoard_handles",
            FEW,
            |_| hoard("stream"),
            "E_TOOL_TRAP",
        ),
        row(
            "preopens",
            "hoard_handles",
            FEW,
            |_| hoard("preopen"),
            "E_TOOL_TRAP",
        ),
        row(
            "descriptors",
            "hoard_handles",
            FEW,
            |_| hoard("descriptor"),
            "insufficient-memory",
        ),
        row(
            "listings",
            "hoard_handles",
            FEW,
            |_| hoard("listing"),
            "insufficient-memory",
        ),
        row(
            "a list that names one timer often",
            "poll_storm",
            "",
            |_| json!({"kind": "once", "count": 100_000}),
            "E_TOOL_TRAP",
        ),
    ]));
}
