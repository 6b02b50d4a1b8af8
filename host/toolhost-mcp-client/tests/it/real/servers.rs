//! The servers of the page's table, and calls of their tools.

use std::path::Path;

use serde_json::{Value, json};

/// A server, the place of its program, and calls of its tools.
pub(super) struct Row {
    pub(super) server: &'static str,
    pub(super) variable: &'static str,
    pub(super) folder: &'static str,
    pub(super) program: &'static str,
    pub(super) args: Vec<String>,
    pub(super) calls: Vec<Call>,
}

pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) input: Value,
    /// The output, or the code of the error and a part of its message.
    pub(super) end: Result<Value, (&'static str, &'static str)>,
}

fn returns(tool: &'static str, input: Value, output: Value) -> Call {
    let end = Ok(output);
    Call { tool, input, end }
}

fn fails(tool: &'static str, input: Value, code: &'static str, message: &'static str) -> Call {
    let end = Err((code, message));
    Call { tool, input, end }
}

pub(super) fn rows(project: &Path) -> Vec<Row> {
    let project = project.to_str().unwrap();
    [python(), rmcp(), everything(), filesystem(project)]
        .into_iter()
        .flatten()
        .collect()
}

fn row(server: &'static str, program: &'static str, args: &[&str], calls: Vec<Call>) -> Row {
    Row {
        server,
        variable: "TOOLHOST_MCP_SERVERS",
        folder: "mcp-servers",
        program,
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        calls,
    }
}

fn python() -> Vec<Row> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/sum.py");
    let python = |server, program, sum, message| {
        let add = returns("srv__add", json!({"a": 1, "b": 2}), sum);
        let fail = json!({"text": "no milk"});
        let fail = fails("srv__fail", fail, "MCP_TOOL_ERROR", message);
        row(server, program, &[script], vec![add, fail])
    };
    let text = || json!("3");
    let data = || json!({"result": 3});
    let mut fastmcp = python(
        "PyPI fastmcp 3.4.11",
        "fastmcp-3.4/bin/python",
        data(),
        "no milk",
    );
    let page = json!({"name": "notes", "lines": [1, 2]});
    let page = returns("srv__page", json!({"name": "notes"}), page);
    fastmcp.calls.insert(1, page);
    vec![
        python("PyPI mcp 1.2.0", "mcp-1.2/bin/python", text(), "no milk"),
        python("PyPI mcp 1.6.0", "mcp-1.6/bin/python", text(), "no milk"),
        python("PyPI mcp 1.9.4", "mcp-1.9/bin/python", text(), "no milk"),
        Row {
            variable: "TOOLHOST_MCP_CLIENTS",
            folder: "mcp-clients",
            ..python("PyPI mcp 2.3.0", "python/bin/python", data(), "tool fail")
        },
        fastmcp,
    ]
}

fn rmcp() -> Vec<Row> {
    let rmcp = |server, program| {
        let text = || json!({"text": "no milk"});
        let echo = returns("srv__echo", text(), json!("no milk"));
        let sum = json!({"result": 3});
        let add = returns("srv__add", json!({"a": 1, "b": 2}), sum);
        let fail = fails("srv__fail", text(), "MCP_TOOL_ERROR", "no milk");
        row(server, program, &[], vec![echo, add, fail])
    };
    vec![
        rmcp("crates.io rmcp 0.8.5", "rmcp/debug/rmcp-0-8"),
        rmcp("crates.io rmcp 3.11.0", "rmcp/debug/rmcp-3-11"),
    ]
}

fn everything() -> Vec<Row> {
    let everything = |server, program, fails| {
        let echo = json!({"message": "hi"});
        let echo = returns("srv__echo", echo, json!("Echo: hi"));
        row(server, program, &["stdio"], vec![echo, fails])
    };
    vec![
        everything(
            "npm server-everything 2025.3.19",
            "2025/node_modules/.bin/mcp-server-everything",
            // It asks the client for a sample, which the client refuses.
            fails(
                "srv__sample_llm",
                json!({"prompt": "hi"}),
                "MCP_REFUSED",
                "sampling/createMessage",
            ),
        ),
        everything(
            "npm server-everything 2026.8.31",
            "node_modules/.bin/mcp-server-everything",
            fails(
                "srv__gzip-file-as-resource",
                json!({"data": "ftp://127.0.0.1/"}),
                "MCP_TOOL_ERROR",
                "Unsupported URL protocol",
            ),
        ),
    ]
}

fn filesystem(project: &str) -> Vec<Row> {
    let filesystem = |server, program, tool, output| {
        let notes = json!({"path": format!("{project}/notes.txt")});
        let notes = returns(tool, notes, output);
        let other = json!({"path": "/etc/passwd"});
        let other = fails(tool, other, "MCP_TOOL_ERROR", "Access denied");
        row(server, program, &[project], vec![notes, other])
    };
    let milk = json!("remember the milk");
    vec![
        filesystem(
            "npm server-filesystem 2025.3.28",
            "2025/node_modules/.bin/mcp-server-filesystem",
            "srv__read_file",
            milk.clone(),
        ),
        filesystem(
            "npm server-filesystem 2026.8.31",
            "node_modules/.bin/mcp-server-filesystem",
            "srv__read_text_file",
            json!({"content": milk}),
        ),
    ]
}
