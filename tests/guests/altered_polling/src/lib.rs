//! Built from a contract in which only `polling` is changed: `poll` takes a number for a
//! handle, under the same version.

wit_bindgen::generate!({
    inline: "
        package goondan:tool@2.0.0;
        interface types {
            record tool-context {
                agent-name: string, instance-key: string, turn-id: string, tool-call-id: string,
                trace-id: option<string>, message: string, workdir: string,
            }
            record tool-error {
                message: string, name: option<string>, code: option<string>,
                suggestion: option<string>, help-url: option<string>,
            }
            variant outcome { output(string), pending(string) }
            record export-spec { name: string, description: option<string>, parameters: option<string> }
        }
        interface handlers {
            use types.{tool-context, tool-error, outcome, export-spec};
            describe: func() -> list<export-spec>;
            call: func(name: string, context: tool-context, input: string) -> result<outcome, tool-error>;
        }
        interface polling {
            use types.{tool-context, tool-error, outcome};
            poll: func(context: tool-context, handle: u64) -> result<outcome, tool-error>;
            cancel: func(context: tool-context, handle: u64);
        }
        world async-tool { export handlers; export polling; }
    ",
    world: "goondan:tool/async-tool",
});

use exports::goondan::tool::handlers::{self, ExportSpec, Outcome, ToolContext, ToolError};
use exports::goondan::tool::polling;

struct Altered;
export!(Altered);

impl handlers::Guest for Altered {
    fn describe() -> Vec<ExportSpec> {
        Vec::new()
    }

    fn call(_: String, _: ToolContext, _: String) -> Result<Outcome, ToolError> {
        Ok(Outcome::Pending("1".into()))
    }
}

impl polling::Guest for Altered {
    fn poll(_: ToolContext, handle: u64) -> Result<Outcome, ToolError> {
        Ok(Outcome::Output(handle.to_string()))
    }

    fn cancel(_: ToolContext, _: u64) {}
}
