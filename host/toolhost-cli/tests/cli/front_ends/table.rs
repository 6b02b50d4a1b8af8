//! The calls of the table, what they are made of, and why a code is in no row.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Served;
use crate::terminal::{Terminal, guest};

/// What a call must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Output,
    Pending,
    Error(&'static str),
}

impl Expected {
    pub(super) fn check(self, call: &str, result: &Value) {
        let status = match self {
            Self::Output => "ok",
            Self::Pending => "pending",
            Self::Error(_) => "error",
        };
        assert_eq!(result["status"], status, "{call}: {result}");
        if let Self::Error(code) = self {
            assert_eq!(result["error"]["code"], code, "{call}: {result}");
        }
        // The name of a tool is what the caller wrote.
        let parts = [&result["output"], &result["error"], &result["handle"]];
        let is_secret = |part: &Value| part.to_string().contains("sk-table-secret");
        assert!(!parts.into_iter().any(is_secret), "{call}: {result}");
    }

    pub(super) fn code(self) -> Option<&'static str> {
        match self {
            Self::Error(code) => Some(code),
            Self::Output | Self::Pending => None,
        }
    }
}

use Expected::{Error, Output, Pending};

/// Calls: tool, arguments and result.
pub(super) const CALLS: [(&str, &str, Expected); 32] = [
    (
        "text__upper",
        r#"{"text": "한글 \u001b[0m\u2028\u0000"}"#,
        Output,
    ),
    (
        "text__upper",
        r#"{"text": 7}"#,
        Error("E_TOOL_INVALID_ARGS"),
    ),
    ("text__upper", "{}", Error("E_TOOL_INVALID_ARGS")),
    (
        "text__upper",
        r#"{"text": "x", "\u202emore": {"a": [1]}}"#,
        Error("E_TOOL_INVALID_ARGS"),
    ),
    ("text__nope", "{}", Error("E_TOOL_NOT_IN_CATALOG")),
    ("no name\n", "{}", Error("E_TOOL_NOT_IN_CATALOG")),
    ("", "{}", Error("E_TOOL_NOT_IN_CATALOG")),
    ("echo_raw__run", r#"{"output": "[1, 2.50, null]"}"#, Output),
    ("echo_raw__run", r#"{"output": "\"text\""}"#, Output),
    ("echo_raw__run", r#"{"output": "null"}"#, Output),
    ("echo_raw__run", r#"{"output": "-1e-7"}"#, Output),
    (
        "echo_raw__run",
        r#"{"output": "{no JSON"}"#,
        Error("E_TOOL_INVALID_OUTPUT"),
    ),
    (
        "echo_raw__run",
        r#"{"depth": 1000}"#,
        Error("E_TOOL_INVALID_OUTPUT"),
    ),
    // The tool's own error: its fields are limited, its code and link are kept if they are allowed.
    (
        "fails__run",
        r#"{"message": "no\u001b", "name": "Mine", "code": "MINE", "suggestion": "try", "helpUrl": "https://a.example"}"#,
        Error("MINE"),
    ),
    (
        "fails__run",
        r#"{"message": "", "code": "E_TOOL_TIMEOUT"}"#,
        Error("E_TOOL"),
    ),
    ("fails__run", r#"{"bytes": 100000}"#, Error("E_TOOL")),
    // Cut at 20 characters, by the manifest.
    (
        "fails-briefly__run",
        r#"{"bytes": 100000}"#,
        Error("E_TOOL"),
    ),
    // The secret of the policy, in an output, in an error and in arguments that are refused.
    (
        "echo_raw__run",
        r#"{"output": "{\"key=sk-table-secret\": [\"sk-table-secret\"]}"}"#,
        Output,
    ),
    (
        "fails__run",
        r#"{"message": "key=sk-table-secret", "code": "MINE"}"#,
        Error("MINE"),
    ),
    (
        "text__sk-table-secret",
        "{}",
        Error("E_TOOL_NOT_IN_CATALOG"),
    ),
    ("sleep__run", "{}", Error("E_TOOL_TIMEOUT")),
    ("spin_forever__run", "{}", Error("E_TOOL_TIMEOUT")),
    ("eat_memory__run", "{}", Error("E_TOOL_OUT_OF_MEMORY")),
    ("trap__run", "{}", Error("E_TOOL_TRAP")),
    (
        "panic_with_reason__run",
        r#"{"reason": "sk-table-secret"}"#,
        Error("E_TOOL_TRAP"),
    ),
    ("exit_process__run", r#"{"code": 3}"#, Error("E_TOOL_EXIT")),
    (
        "flood_output__run",
        r#"{"bytes": 2000}"#,
        Error("E_TOOL_OUTPUT_TOO_LARGE"),
    ),
    (
        "file-system__write",
        r#"{"path": "big", "content": "0123456789 0123456789 0123456789"}"#,
        Error("E_TOOL_DISK_LIMIT"),
    ),
    (
        "file-system__read",
        r#"{"path": "../../etc/passwd"}"#,
        Error("PERMISSION_DENIED"),
    ),
    (
        "dial_out__run",
        r#"{"then": "panic"}"#,
        Error("E_TOOL_DENIED"),
    ),
    ("pending__run", r#"{"handle": "sk-table-secret"}"#, Pending),
    // A component's handle may be too large to keep.
    (
        "pending__run",
        r#"{"bytes": 100000}"#,
        Error("E_TOOL_INVALID_OUTPUT"),
    ),
];

/// Codes that the polls of `a_handle_has_one_result_whoever_made_it_and_whoever_polls_it` and the store
/// that cannot be read give.
pub(super) const POLLED: [&str; 5] = [
    "E_TOOL_CANCELLED",
    "E_TOOL_INTERRUPTED",
    "E_TOOL_UNKNOWN_HANDLE",
    "E_TOOL_NOT_FOUND",
    "E_HOST",
];

/// Beginnings of codes that no call of this table can get, and why.
pub(super) const ELSEWHERE: [(&str, &str); 13] = [
    (
        "E_TOOL_APPROVAL_",
        "needs somebody who decides: `it approvals`, and `it mcp::pending` for the pending result",
    ),
    (
        "E_TOOL_BUDGET",
        "its message has the time until the reset: `it front_ends::every_front_end_refuses_a_call_beyond_a_budget`",
    ),
    (
        "E_TOOL_CALL_",
        "comes from a call of another tool: `it inner_calls`",
    ),
    (
        "E_TOOL_WORKDIR_",
        "needs a policy with transactions, and another call or file system: `cli transactions`",
    ),
    (
        "E_TOOL_UNLOADED",
        "no front end unloads a bundle while it is called: `it reload::unload`",
    ),
    (
        "E_TOOL_BUSY",
        "needs other calls that hold the sandbox: `it front_ends`",
    ),
    (
        "E_TOOL_AUTH_",
        "needs an OAuthApp and its authorization server: `cli auth`",
    ),
    (
        "E_MIDDLEWARE",
        "needs a middleware of the runtime; the command line has none: `it front_ends`",
    ),
    (
        "AGENT_",
        "comes from an orchestrator, in the output of the call of an agent; the front ends have none",
    ),
    ("CIRCULAR_CALL_DETECTED", "as AGENT_"),
    ("IPC_DELIVERY_FAILED", "as AGENT_"),
    (
        "E_CONFIG_",
        "is a diagnostic of a bundle: nothing can be called before it loads",
    ),
    ("E_COMPONENT_", "as E_CONFIG_"),
];

/// Tools of the bundle: name, guest, exports, and what the manifest says of errors.
const TOOLS: [(&str, &str, &[&str]); 14] = [
    ("text", "text", &["upper"]),
    ("echo_raw", "echo_raw", &["run"]),
    ("fails", "forge_host_code", &["run"]),
    ("fails-briefly", "forge_host_code", &["run"]),
    ("sleep", "sleep_forever", &["run"]),
    ("spin_forever", "spin_forever", &["run"]),
    ("eat_memory", "eat_memory", &["run"]),
    ("trap", "trap", &["run"]),
    ("panic_with_reason", "panic_with_reason", &["run"]),
    ("exit_process", "exit_process", &["run"]),
    ("flood_output", "flood_output", &["run"]),
    ("file-system", "file-system", &["read", "write"]),
    ("dial_out", "dial_out", &["run"]),
    ("pending", "pending", &["run"]),
];

const POLICY: &str = "
# The tests of polls and of a damaged store have bundles with some of the tools.
strict: false
tools:
  text: {env: {KEY: {secret: sk-table-secret}}}
  sleep: {limits: {deadlineMs: 100}}
  spin_forever: {limits: {deadlineMs: 100}}
  eat_memory: {limits: {memoryBytes: 8MiB}}
  flood_output: {limits: {outputBytes: 1KiB}}
  file-system: {limits: {diskBytes: 16}}
";

/// Writes the bundle and the policy.
pub(super) fn served() -> Served {
    let terminal = Terminal::new();
    let names: Vec<_> = TOOLS.iter().map(|(name, ..)| *name).collect();
    let bundle = write_bundle(&terminal, &names);
    let policy = terminal.write("policy.yaml", POLICY);
    let shared = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    Served {
        bundle,
        policy,
        cache_home: shared.join("cli-cache"),
        state_home: shared.join("cli-state"),
        terminal,
    }
}

/// Writes the bundle, of the tools with these names.
pub(super) fn write_bundle(terminal: &Terminal, names: &[&str]) -> PathBuf {
    let tools = TOOLS.iter().filter(|(name, ..)| names.contains(name));
    let documents: Vec<_> = tools
        .map(|(name, guest_name, exports)| {
            let component = std::fs::read(guest(guest_name)).unwrap();
            terminal.write(&format!("bundle/{guest_name}.wasm"), component);
            let exports: Vec<_> = exports.iter().map(|name| json!({"name": name})).collect();
            let mut spec = json!({"entry": format!("./{guest_name}.wasm"), "exports": exports});
            if *name == "fails-briefly" {
                spec["errorMessageLimit"] = json!(20);
            }
            json!({
                "apiVersion": "goondan.ai/v1", "kind": "Tool",
                "metadata": {"name": name}, "spec": spec,
            })
            .to_string()
        })
        .collect();
    terminal.write("bundle/goondan.yaml", documents.join("\n---\n"));
    terminal.path("bundle")
}
