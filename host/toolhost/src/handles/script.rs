//! Programs that call the tools of a step.

use serde_json::Value;
use toolhost_contract::ToolResult;

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
    /// use toolhost::ScriptLanguage;
    ///
    /// let code = r#"return (await tools["file-system__read"]({path: args})).content.length"#;
    /// step.execute_script("call_1", ScriptLanguage::JavaScript, code, "a.txt").await
    /// # }
    /// ```
    pub async fn execute_script(
        &self,
        call_id: &str,
        language: ScriptLanguage,
        code: impl Into<String>,
        args: impl Into<Value>,
    ) -> ToolResult {
        let call = language.call(call_id, code, args);
        self.execute_without_message(call).await
    }
}
