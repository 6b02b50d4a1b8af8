//! `toolhost rpc` over stdio.

use serde_json::{Value, json};

use super::lines::Lines;
use super::{FrontEnd, Served};

pub(super) struct JsonRpc(Lines);

impl JsonRpc {
    pub(super) fn start(served: &Served) -> Self {
        let workdir = served.workdir("json-rpc");
        let mut command = served.command("rpc");
        Self(Lines::start(
            command.args(["--quiet", "--workdir"]).arg(workdir),
        ))
    }

    pub(super) fn submit(&mut self, tool: &str, args: &Value) -> Value {
        self.result("call/submit", &call(tool, args))
    }

    pub(super) fn cancel(&mut self, handle: &str) -> Value {
        self.result("call/cancel", &json!({"handle": handle}))
    }

    /// Begins a call in the background of a server that is killed.
    pub(super) fn submit_and_die(mut self, tool: &str, args: &Value) -> Value {
        let submitted = self.submit(tool, args);
        self.0.kill();
        submitted
    }

    fn result(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.0.request(method, params);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }
}

impl FrontEnd for JsonRpc {
    fn call(&mut self, tool: &str, args: &Value) -> Value {
        self.result("call/execute", &call(tool, args))
    }

    fn poll(&mut self, handle: &str) -> Value {
        self.result("call/poll", &json!({"handle": handle}))
    }
}

fn call(tool: &str, args: &Value) -> Value {
    json!({"call": {"id": "call", "name": tool, "args": args}})
}
