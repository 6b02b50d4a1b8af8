//! Programs that call the tools of a step.

use serde_json::Value;
use toolhost_contract::{JsonObject, ToolCall, ToolResult};

use super::step::Step;
use crate::catalog::script_language::ScriptLanguage;

impl Step {
    /// Runs a program that calls tools of this step: a call of `javascript__script` or `python__script`, which the
    /// catalog must have. The policy says which tools it may call.
    ///
    /// The output has what the program returned as `result`, and what it printed as `log`. `args` is what the program
    /// finds as `args`.
    ///
    /// ```
    /// # async fn example(step: &toolhost::Step) -> toolhost::ToolResult {
    /// use toolhost::{JsonObject, ScriptLanguage};
    ///
    /// let code = r#"return (await tools["file-system__read"]({path: "a.txt"})).content.length"#;
    /// step.execute_script("call_1", ScriptLanguage::JavaScript, code, JsonObject::new()).await
    /// # }
    /// ```
    pub async fn execute_script(
        &self,
        call_id: &str,
        language: ScriptLanguage,
        code: impl Into<String>,
        args: JsonObject,
    ) -> ToolResult {
        let mut arguments = JsonObject::new();
        arguments.insert("code".to_owned(), Value::String(code.into()));
        arguments.insert("args".to_owned(), Value::Object(args));
        let call = ToolCall::new(call_id, format!("{}__script", language.tool()), arguments);
        self.execute_without_message(call).await
    }
}
