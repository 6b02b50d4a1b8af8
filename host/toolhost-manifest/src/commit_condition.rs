//! Reads the condition under which the changes of a call are committed, of a Tool and of a policy.

use toolhost_contract::{CommitCondition, CommitConditionError};

use crate::reader::{Cursor, Findings};

/// Reads `{pointer: /exitCode, equals: 0}`.
pub(crate) fn read(at: &Cursor<'_>, findings: &mut Findings) -> Option<CommitCondition> {
    let fields = at.known_fields(&["pointer", "equals"], findings)?;
    let pointer = fields.required("pointer", findings);
    let equals = fields.required("equals", findings);
    let (pointer, equals) = (pointer?, equals?);
    let text = pointer.text(findings)?;
    match CommitCondition::new(text, &equals.node.to_json()) {
        Ok(condition) => Some(condition),
        Err(error) => match error {
            CommitConditionError::Equals => equals.refused(error.to_string(), findings),
            // The enum may grow.
            CommitConditionError::Pointer | _ => pointer.refused(error.to_string(), findings),
        },
    }
}
