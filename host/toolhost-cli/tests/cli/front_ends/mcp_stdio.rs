//! `toolhost serve` over stdio, with the revision 2025-11-25.

use serde_json::{Value, json};

use super::lines::Lines;
use super::mcp_result::tool_result;
use super::{FrontEnd, Served};

pub(super) struct McpStdio(Lines);

impl McpStdio {
    pub(super) fn start(served: &Served) -> Self {
        let workdir = served.workdir("mcp-stdio");
        let mut command = served.command("serve");
        let mut lines = Lines::start(command.args(["--quiet", "--workdir"]).arg(workdir));
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = lines.request("initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        lines.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Self(lines)
    }
}

impl FrontEnd for McpStdio {
    fn call(&mut self, tool: &str, args: &Value) -> Value {
        let params = json!({"name": tool, "arguments": args});
        tool_result(&self.0.request("tools/call", &params))
    }

    fn poll(&mut self, handle: &str) -> Value {
        self.call("poll", &json!({"handle": handle}))
    }
}
