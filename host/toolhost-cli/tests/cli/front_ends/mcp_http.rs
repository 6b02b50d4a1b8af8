//! `toolhost serve --http`, with the stateless revision 2026-07-28.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::mcp_result::tool_result;
use super::{FrontEnd, Served};

pub(super) struct McpHttp {
    child: Child,
    address: String,
}

impl McpHttp {
    pub(super) fn start(served: &Served) -> Self {
        let workdir = served.workdir("mcp-http");
        let mut command = served.command("serve");
        command.args(["--http", "127.0.0.1:0", "--workdir"]);
        let command = command.arg(workdir).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        // The server prints nothing more.
        let mut address = stderr.lines().find_map(|line| {
            let line = line.unwrap();
            let (_, url) = line.split_once("listening on http://")?;
            Some(url.trim_end_matches("/mcp").to_owned())
        });
        Self {
            address: address.take().expect("it listens"),
            child,
        }
    }

    /// Makes a pending call as a task, and cancels it. Returns its handle.
    pub(super) fn cancelled_task(&mut self, tool: &str, args: &Value) -> Value {
        let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let call = json!({"name": tool, "arguments": args});
        let created = self.request("tools/call", call, &tasks);
        let id = created["result"]["taskId"].as_str().unwrap();
        let task = || json!({"taskId": id});
        let cancelled = self.request("tasks/cancel", task(), &tasks);
        assert!(cancelled["error"].is_null(), "{cancelled}");
        let found = self.request("tasks/get", task(), &tasks);
        assert_eq!(found["result"]["status"], "cancelled");
        let (handle, _created_at) = id.rsplit_once('@').unwrap();
        json!({"handle": handle})
    }

    fn request(&self, method: &str, mut params: Value, capabilities: &Value) -> Value {
        let name = params.get("name").or(params.get("taskId"));
        let name = name.and_then(Value::as_str).map(header_value);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let body = body.to_string();
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\
             Connection: close\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n",
            self.address,
            body.len()
        );
        if let Some(name) = name {
            head.push_str(&format!("Mcp-Name: {name}\r\n"));
        }
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "{head}\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        // Of events, the last is the answer.
        let mut lines = answer.lines().rev();
        let message = lines.find_map(|line| {
            let json = line.strip_prefix("data: ").unwrap_or(line);
            serde_json::from_str(json).ok()
        });
        message.unwrap_or_else(|| panic!("{answer}"))
    }
}

/// A name in a header: in base64 where a header cannot have it as it is.
fn header_value(name: &str) -> String {
    match name {
        "no name\n" => "=?base64?bm8gbmFtZQo=?=".to_owned(),
        name => name.to_owned(),
    }
}

impl FrontEnd for McpHttp {
    fn call(&mut self, tool: &str, args: &Value) -> Value {
        let call = json!({"name": tool, "arguments": args});
        tool_result(&self.request("tools/call", call, &json!({})))
    }

    fn poll(&mut self, handle: &str) -> Value {
        self.call("poll", &json!({"handle": handle}))
    }
}

impl Drop for McpHttp {
    fn drop(&mut self) {
        let _is_killed = self.child.kill().is_ok();
        let _has_ended = self.child.wait().is_ok();
    }
}
