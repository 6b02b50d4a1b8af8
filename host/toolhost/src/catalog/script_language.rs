//! The languages of programs that call tools.

use serde_json::Value;
use toolhost_contract::{JsonObject, ToolCall};

/// The language of a program that calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptLanguage {
    /// JavaScript, which the base tool `javascript` runs.
    JavaScript,
    /// Python, which the base tool `python` runs.
    Python,
}

impl ScriptLanguage {
    /// Returns the call that runs a program, for any way in which calls are executed: [`Step::execute_until`] stops it,
    /// [`Step::submit`] runs it in the background. `args` is what the program finds as `args`.
    ///
    /// ```
    /// # async fn example(step: &toolhost::Step) -> toolhost::ToolResult {
    /// use toolhost::{AssistantMessage, ScriptLanguage};
    ///
    /// let call = ScriptLanguage::JavaScript.call("call_1", "return args.length", "text");
    /// step.submit(call.clone(), &AssistantMessage::for_call(&call)).await
    /// # }
    /// ```
    ///
    /// [`Step::execute_until`]: crate::Step::execute_until
    /// [`Step::submit`]: crate::Step::submit
    pub fn call(self, call_id: &str, code: impl Into<String>, args: impl Into<Value>) -> ToolCall {
        let mut arguments = JsonObject::new();
        arguments.insert("code".to_owned(), Value::String(code.into()));
        arguments.insert("args".to_owned(), args.into());
        ToolCall::new(call_id, format!("{}__script", self.tool()), arguments)
    }

    /// The Tool that runs programs in the language.
    #[must_use]
    pub fn tool(self) -> &'static str {
        match self {
            Self::JavaScript => "javascript",
            Self::Python => "python",
        }
    }
}
