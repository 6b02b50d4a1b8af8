//! Built from a changed contract: `tool-context` has one more field, under the same
//! version. Records are structural, so this is another interface of the same name.

wit_bindgen::generate!({
    inline: "
        package goondan:tool@2.0.0;
        interface types {
            record tool-context {
                agent-name: string, instance-key: string, turn-id: string, tool-call-id: string,
                trace-id: option<string>, message: string, workdir: string, one-more: string,
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
        world tool { export handlers; }
    ",
    world: "goondan:tool/tool",
});

use exports::goondan::tool::handlers::{ExportSpec, Guest, Outcome, ToolContext, ToolError};

struct Altered;
export!(Altered);

impl Guest for Altered {
    fn describe() -> Vec<ExportSpec> {
        Vec::new()
    }

    fn call(_: String, context: ToolContext, _: String) -> Result<Outcome, ToolError> {
        Ok(Outcome::Output(format!("{:?}", context.one_more)))
    }
}
