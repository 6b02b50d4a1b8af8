//! Checks an output against the schema of its tool.

use std::sync::Arc;

use toolhost_contract::ToolError;

use toolhost_schema::json;

use super::failure::failure;
use super::run::Answer;
use super::scope::TurnScope;
use crate::registry::RegisteredTool;

/// Returns the answer, or `E_TOOL_INVALID_OUTPUT` in place of an output that does not fit the tool's
/// `outputSchema`.
pub(super) async fn checked(
    turn: &TurnScope,
    tool: &RegisteredTool,
    answer: Result<Answer, ToolError>,
) -> Result<Answer, ToolError> {
    let (Some(schema), Ok(Answer::Output(output))) = (&tool.output_schema, &answer) else {
        return answer;
    };
    let (name, locale) = (&tool.item.name, turn.locale());
    let size = json::measure(output);
    if schema.is_short(output, size) {
        return schema.validate(name, output, size, locale).and(answer);
    }
    // Checked on another thread, so that the caller's thread can run other calls.
    let (schema, output, of) = (Arc::clone(schema), output.clone(), name.clone());
    let check = move || schema.validate(&of, &output, size, locale);
    let sandbox = &turn.agent().host.sandbox;
    let checked = sandbox.threads().compute(check).await;
    checked
        .map_err(|error| failure(name, &error.into(), locale))?
        .and(answer)
}
