//! One table of calls through every front end: the library, `toolhost call`, MCP over stdio and HTTP, and
//! JSON-RPC. Each gives the same ToolResult, but for the id of the call and the handle of a pending one.

mod command_line;
mod json_rpc;
mod library;
pub(crate) mod lines;
mod mcp_http;
mod mcp_result;
mod mcp_stdio;
mod table;

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use toolhost::ToolErrorCode;

use crate::terminal::Terminal;
use command_line::CommandLine;
use json_rpc::JsonRpc;
use library::Library;
use mcp_http::McpHttp;
use mcp_stdio::McpStdio;
use table::{CALLS, ELSEWHERE, Expected};

/// Key of the instance that all front ends serve: each can poll what another began.
const INSTANCE: &str = "one";

/// What the front ends serve, and where they keep what they compile and what is pending.
struct Served {
    terminal: Terminal,
    bundle: PathBuf,
    policy: PathBuf,
    cache_home: PathBuf,
    state_home: PathBuf,
}

impl Served {
    /// A command on the bundle.
    fn command(&self, name: &str) -> Command {
        let mut command = self.terminal.toolhost([name]);
        command
            .arg(&self.bundle)
            .args(["--instance", INSTANCE, "--policy"])
            .arg(&self.policy)
            .env("XDG_CACHE_HOME", &self.cache_home)
            .env("XDG_STATE_HOME", &self.state_home);
        command
    }

    /// Creates the workdir of a front end.
    fn workdir(&self, name: &str) -> PathBuf {
        let path = self.terminal.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

/// A way from a call to its ToolResult.
trait FrontEnd {
    fn call(&mut self, tool: &str, args: &Value) -> Value;
    fn poll(&mut self, handle: &str) -> Value;
}

/// Starts each front end, with a workdir of its own.
fn front_ends(served: &Served) -> Vec<(&'static str, Box<dyn FrontEnd + '_>)> {
    vec![
        ("library", Box::new(Library::start(served))),
        ("command line", Box::new(CommandLine::start(served))),
        ("MCP over stdio", Box::new(McpStdio::start(served))),
        ("MCP over HTTP", Box::new(McpHttp::start(served))),
        ("JSON-RPC", Box::new(JsonRpc::start(served))),
    ]
}

/// Returns a result without what each call has of its own.
fn normalized(mut result: Value) -> Value {
    for own in ["toolCallId", "handle"] {
        if let Some(value) = result.get_mut(own) {
            assert!(!value.as_str().unwrap_or_default().is_empty(), "{own}");
            *value = json!("…");
        }
    }
    result
}

#[test]
fn a_call_has_one_result_whatever_it_came_through() {
    let served = table::served();
    let mut front_ends = front_ends(&served);
    for (tool, args, expected) in CALLS {
        let args = serde_json::from_str(args).unwrap();
        let results = front_ends
            .iter_mut()
            .map(|(name, front_end)| (*name, normalized(front_end.call(tool, &args))));
        let results: Vec<_> = results.collect();
        let (_, library) = &results[0];
        expected.check(tool, library);
        for (name, result) in &results {
            assert_eq!(result, library, "{name}: {tool} {args}");
        }
    }
}

#[test]
fn a_handle_has_one_result_whoever_made_it_and_whoever_polls_it() {
    // tool-spec-v2 §10.2
    let served = table::served();
    let mut library = Library::start(&served);
    let mut command_line = CommandLine::start(&served);
    let mut over_http = McpHttp::start(&served);
    let mut json_rpc = JsonRpc::start(&served);
    let later = |handle: &str| json!({"handle": handle});
    let submitted = json!({"text": "made in the background"});
    let failing = json!({"message": "key=sk-table-secret", "code": "MINE"});
    let endless = json!({"seconds": 1e9});
    let pending = "pending__run";
    let refused = library.submit("text__nope", &json!({}));
    Expected::Error("E_TOOL_NOT_IN_CATALOG").check("submit", &refused);
    let over_rpc = json_rpc.submit("text__nope", &json!({}));
    assert_eq!(normalized(over_rpc), normalized(refused));
    let made = [
        (library.call(pending, &later("done:[1]")), Expected::Output),
        (
            command_line.call(pending, &later("done:{\"n\": 1}")),
            Expected::Output,
        ),
        (
            over_http.call(pending, &later("fail:no")),
            Expected::Error("E_TOOL"),
        ),
        (
            json_rpc.call(pending, &later("done:no JSON")),
            Expected::Error("E_TOOL_INVALID_OUTPUT"),
        ),
        (json_rpc.call(pending, &later("on")), Expected::Pending),
        (library.submit("text__upper", &submitted), Expected::Output),
        (json_rpc.submit("text__upper", &submitted), Expected::Output),
        (
            library.submit("fails__run", &failing),
            Expected::Error("MINE"),
        ),
        (
            cancelled(&mut library, |front_end, result| front_end.cancel(result)),
            Expected::Error("E_TOOL_CANCELLED"),
        ),
        (
            cancelled(&mut command_line, |front_end, result| {
                front_end.cancel(result)
            }),
            Expected::Error("E_TOOL_CANCELLED"),
        ),
        (
            cancelled(&mut json_rpc, |front_end, result| front_end.cancel(result)),
            Expected::Error("E_TOOL_CANCELLED"),
        ),
        (
            over_http.cancelled_task(pending, &later("on")),
            Expected::Error("E_TOOL_CANCELLED"),
        ),
        (
            JsonRpc::start(&served).submit_and_die("sleep__run", &endless),
            Expected::Error("E_TOOL_INTERRUPTED"),
        ),
        (
            json!({"handle": format!("pending_{}", "a".repeat(32))}),
            Expected::Error("E_TOOL_UNKNOWN_HANDLE"),
        ),
        (
            json!({"handle": "no\nhandle sk-table-secret"}),
            Expected::Error("E_TOOL_UNKNOWN_HANDLE"),
        ),
    ];
    drop((library, command_line, over_http, json_rpc));
    check_polls(&served, &made);

    // The tool is gone, and the call can still be polled.
    let left = Library::start(&served).call(pending, &later("done:1"));
    table::write_bundle(&served.terminal, &["text"]);
    check_polls(&served, &[(left, Expected::Error("E_TOOL_NOT_FOUND"))]);
}

/// Polls the handle of each result until it is as expected, through each front end.
fn check_polls(served: &Served, made: &[(Value, Expected)]) {
    let mut front_ends = front_ends(served);
    for (result, expected) in made {
        let handle = result["handle"]
            .as_str()
            .unwrap_or_else(|| panic!("{result}"));
        // A call in the background ends in its own time.
        let library = loop {
            let polled = front_ends[0].1.poll(handle);
            if polled["status"] != "pending" || *expected == Expected::Pending {
                break polled;
            }
        };
        expected.check("poll", &library);
        for (name, front_end) in &mut front_ends {
            assert_eq!(front_end.poll(handle), library, "{name}: {handle}");
        }
    }
}

/// Makes a pending call and cancels it: `cancel` returns what the handle stands for from then on.
fn cancelled<F: FrontEnd>(front_end: &mut F, cancel: impl Fn(&mut F, &str) -> Value) -> Value {
    let made = front_end.call("pending__run", &json!({"handle": "on"}));
    let cancelled = cancel(front_end, made["handle"].as_str().unwrap());
    assert_eq!(cancelled["error"]["code"], "E_TOOL_CANCELLED");
    made
}

#[test]
fn a_store_that_cannot_be_read_is_the_same_error_of_the_host() {
    let mut served = table::served();
    served.state_home = served.terminal.path("state");
    served.cache_home = served.terminal.path("cache");
    table::write_bundle(&served.terminal, &["pending"]);
    let garbage = "no database".repeat(1000);
    served.terminal.write("state/toolhost/toolhost.db", garbage);
    let mut front_ends = front_ends(&served);
    let call = |front_end: &mut dyn FrontEnd| {
        normalized(front_end.call("pending__run", &json!({"handle": "on"})))
    };
    let library = call(&mut *front_ends[0].1);
    Expected::Error("E_HOST").check("pending__run", &library);
    for (name, front_end) in &mut front_ends {
        assert_eq!(call(&mut **front_end), library, "{name}");
    }
}

#[test]
fn every_code_of_the_host_is_in_the_table_or_has_a_reason_why_not() {
    let caused = CALLS.iter().filter_map(|(_, _, expected)| expected.code());
    let caused: Vec<_> = caused.chain(table::POLLED).collect();
    for code in ToolErrorCode::ALL {
        let code = code.as_str();
        let reason = ELSEWHERE.iter().find(|(other, _)| code.starts_with(other));
        assert_eq!(
            caused.contains(&code),
            reason.is_none(),
            "{code}: in the table, or with a reason"
        );
    }
}
