//! Programs that call a tool, in toolhost, and the same calls without a program.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Handle;

use super::caller::{Caller, Calls, from_threads};
use super::ours::ToolCalls;
use super::works::{CALLS, Work};
use crate::front_ends::{Child, SERVE_MCP, StreamCalls};
use crate::measure::call;
use crate::scripts;

/// A name, and what it names, or why that cannot be called.
type Named = (&'static str, Result<Box<dyn Caller>, String>);

/// Returns the ways of toolhost to do a work; the first is named `ours`.
pub(super) fn callers(
    ours: &'static str,
    runtime: &Handle,
    work: &Work,
    workdir: &Path,
) -> [Named; 3] {
    let step = scripts::step(runtime, workdir);
    let program = |name, tool: &str, code: String| {
        let caller = match step.catalog().get(tool) {
            Some(_) => {
                let call = call(tool, json!({"code": code, "args": work.input}));
                let calls = ToolCalls::new(runtime, step.clone(), call, work.most_in_flight);
                Ok(Box::new(calls) as Box<dyn Caller>)
            }
            None => Err(format!("{tool} is not built")),
        };
        (name, caller)
    };
    let javascript = "let last; for (let i = 0; i < args.calls; i++) \
        last = await tools['echo__say']({text: args.text}); return {calls: args.calls, last}";
    let python = "for i in range(args['calls']):\n    last = await tools['echo__say'](text=args['text'])\n\
        return {'calls': args['calls'], 'last': last}";
    let mcp: Box<dyn Caller> = Box::new(McpCalls::start(runtime));
    [
        program(ours, "javascript__script", javascript.to_owned()),
        program("toolhost, Python", "python__script", python.to_owned()),
        ("toolhost, no program: MCP over stdio", Ok(mcp)),
    ]
}

/// The calls of the program, made by a client of MCP one after the other.
struct McpCalls {
    runtime: Handle,
    calls: StreamCalls,
    _server: Child,
}

impl McpCalls {
    fn start(runtime: &Handle) -> Self {
        let mut server = runtime.block_on(async { Child::start(SERVE_MCP) });
        let calls = runtime.block_on(StreamCalls::mcp(server.streams()));
        Self {
            runtime: runtime.clone(),
            calls,
            _server: server,
        }
    }
}

impl Caller for McpCalls {
    fn once(&mut self) -> String {
        self.runtime.block_on(self.calls.in_turn(CALLS)).to_owned()
    }

    fn run(&mut self, _in_flight: usize, time: Duration) -> Calls {
        from_threads(&mut [self], time, |caller| drop(caller.once()))
    }

    fn most_in_flight(&self) -> usize {
        1
    }
}
