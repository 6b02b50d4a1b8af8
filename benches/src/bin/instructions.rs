//! Runs what `cargo xtask instructions` counts: each case a few times, with a mark after each.
//!
//! valgrind writes its counts and begins new ones whenever [`toolhost_instructions_mark`] is called. This
//! program prints a line for each: the name of the case, or `-` for what prepared it. The components are
//! small and written in WAT, because valgrind would take minutes to compile a larger one. Their compiled code
//! is counted as the host's is.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::hint::black_box;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost::message::ToolMessage;
use toolhost::{
    Agent, AssistantMessage, HandlerError, Host, JsonObject, Sandbox, SandboxConfig, Step,
    ToolCatalog, ToolCatalogItem, ToolResult, ToolStatus, Turn, extension::HandlerContext,
};
use toolhost_tests::root;
use toolhost_tests::test_host::tool_call;

/// Runs before those that are counted, so that everything that is made once is made.
const WARM_UP: usize = 3;

/// Counted runs of a case, of which the one with the fewest instructions is compared.
const RUNS: usize = 9;

/// Tools of the catalog.
const TOOLS: usize = 200;

/// Bytes of the file that is read.
const FILE_BYTES: usize = 6_000;

/// valgrind finds this function by its name.
#[inline(never)]
fn toolhost_instructions_mark(case: &str) {
    black_box(case);
}

/// Ends a count, and prints what it counted.
fn mark(case: &str) {
    toolhost_instructions_mark(case);
    println!("{case}");
}

/// One case, run once by each call.
type Case<'s> = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + 's>> + 's>;

struct Setup {
    step: Step,
    turn: Turn,
    /// The items of the catalog.
    items: Vec<ToolCatalogItem>,
    /// A result with an output.
    result: ToolResult,
    _dirs: [TempDir; 2],
}

/// Returns the component of a guest in `tests/guests/wat`.
fn component(guest: &str) -> Vec<u8> {
    let text = |name: &str| {
        let path = root("tests/guests/wat").join(format!("{name}.wat"));
        std::fs::read_to_string(path).unwrap()
    };
    let imports = r#"(core instance $guest (instantiate $guest
        (with "memory" (instance $memory))
        (with "host" (instance
          (export "get-directories" (func $get_directories)) (export "open-at" (func $open_at))
          (export "read" (func $read)) (export "drop" (func $drop))))))"#;
    let mut whole = text("tool").replace("  ;; GUEST\n", &text(guest));
    if guest == "read_file" {
        whole = whole.replace("(core instance $guest (instantiate $guest))", imports);
    }
    wat::parse_str(whole).unwrap()
}

fn write_bundle(dir: &Path) {
    let tool = |name: &str| {
        std::fs::write(dir.join(format!("{name}.wasm")), component(name)).unwrap();
        let resource = name.replace('_', "-");
        json!({
            "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": resource},
            "spec": {"entry": format!("./{name}.wasm"), "exports": [{"name": "run"}]},
        })
        .to_string()
    };
    let manifest = [tool("answer"), tool("read_file")].join("\n---\n");
    std::fs::write(dir.join("goondan.yaml"), manifest).unwrap();
}

/// Returns a tool with a schema of the usual size.
fn item(name: &str) -> ToolCatalogItem {
    let line = json!({
        "type": "object",
        "properties": {"at": {"type": "integer", "minimum": 1}, "text": {"type": "string"}},
        "required": ["at", "text"],
        "additionalProperties": false,
    });
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "maxLength": 4096},
            "mode": {"enum": ["insert", "replace", "delete"]},
            "lines": {"type": "array", "items": line},
        },
        "required": ["path", "lines"],
        "additionalProperties": false,
    });
    let item = json!({"name": name, "description": "Edits a file", "parameters": parameters});
    serde_json::from_value(item).unwrap()
}

/// Returns arguments that fit the schema of [`item`].
fn arguments() -> Value {
    let line = |at| json!({"at": at, "text": format!("line {at}")});
    let lines: Vec<Value> = (1..=20).map(line).collect();
    json!({"path": "src/main.rs", "mode": "replace", "lines": lines})
}

/// Registers a tool whose handler returns its arguments.
fn register(agent: &Agent, item: ToolCatalogItem) {
    let extended = agent.extend("edit", |api| {
        let handler = async |_: HandlerContext, input: JsonObject| {
            Ok::<_, HandlerError>(Value::Object(input))
        };
        api.tools().register(item, handler)
    });
    extended.unwrap();
}

impl Setup {
    async fn new() -> Self {
        let (bundle, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write_bundle(bundle.path());
        std::fs::write(work.path().join("f.txt"), "x".repeat(FILE_BYTES)).unwrap();
        let mut config = SandboxConfig::default();
        // valgrind compiles slowly.
        config.compile.time = Duration::from_secs(3_600);
        let host = Host::builder().sandbox(Sandbox::new(config).unwrap());
        let host = host.build().unwrap();
        let workdir = host.workdir(work.path()).unwrap();
        let loaded = host.load(bundle.path()).await.unwrap();
        let agent = loaded.only_agent().unwrap();
        register(&agent, item("edit__lines"));
        let instance = agent.instance("instance", workdir);
        let turn = instance.open_turn("turn-1").await.unwrap();
        let step = turn.open_step().await.unwrap();
        let result = step
            .execute_without_message(tool_call("edit__lines", arguments()))
            .await;
        Self {
            step,
            turn,
            items: (0..TOOLS)
                .map(|at| item(&format!("tool{at}__run")))
                .collect(),
            result,
            _dirs: [bundle, work],
        }
    }

    /// Executes a call of a tool.
    fn execute(&self, name: &str, args: Value, bytes_read: usize) -> Case<'_> {
        let call = tool_call(name, args);
        let message = AssistantMessage::for_call(&call);
        Box::new(move || {
            let (call, message) = (call.clone(), message.clone());
            Box::pin(async move {
                let result = self.step.execute(call, &message).await;
                assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
                assert_eq!(result.usage().bytes_read, bytes_read as u64);
            })
        })
    }

    fn cases(&self) -> [(&'static str, Case<'_>); 6] {
        [
            ("execute", self.execute("answer__run", json!({}), 0)),
            (
                "execute, reading a file",
                self.execute("read-file__run", json!({}), FILE_BYTES),
            ),
            (
                "execute, with a schema and a native handler",
                self.execute("edit__lines", arguments(), 0),
            ),
            (
                "open a step",
                Box::new(move || {
                    Box::pin(async move {
                        let step = self.turn.open_step().await.unwrap();
                        assert!(step.catalog().get("edit__lines").is_some());
                    })
                }),
            ),
            (
                "catalog of 200 tools",
                Box::new(move || {
                    Box::pin(async move {
                        let catalog = ToolCatalog::new(self.items.iter().cloned());
                        assert!(catalog.get("tool199__run").is_some());
                    })
                }),
            ),
            (
                "message of a result",
                Box::new(move || {
                    Box::pin(async move {
                        let message = ToolMessage::of(&self.result, "m1", SystemTime::UNIX_EPOCH);
                        let json = serde_json::to_string(&message).unwrap();
                        assert!(json.len() > self.result.to_text().len());
                    })
                }),
            ),
        ]
    }
}

/// Calls run on the main thread, whose stack lies above those that the engine makes: valgrind takes a jump
/// to a lower address for a call.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let setup = Setup::new().await;
    for (case, run) in setup.cases() {
        for _ in 0..WARM_UP {
            run().await;
        }
        mark("-");
        for _ in 0..RUNS {
            run().await;
            mark(case);
        }
    }
}
