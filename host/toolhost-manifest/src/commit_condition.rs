//! Reads the condition under which the changes of a call are committed, of a Tool and of a policy.

use toolhost_contract::{CommitCondition, CommitConditionError};

use crate::reader::{Cursor, Findings};

/// Reads `{pointer: /exitCode, equals: 0}`.
pub(crate) fn read(at: &Cursor<'_>, findings: &mut Findings) -> Option<CommitCondition> {
    at.mapping(findings, |fields| {
        let pointer = fields.required("pointer", |at, findings| {
            Some((at.text(findings)?, at.clone()))
        });
        let equals = fields.required("equals", |at, _| Some(at.clone()));
        let ((text, pointer), equals) = (pointer?, equals?);
        match CommitCondition::new(text, &equals.node.to_json()) {
            Ok(condition) => Some(condition),
            Err(error) => match error {
                CommitConditionError::Equals => equals.refuse(error.to_string(), fields.findings),
                CommitConditionError::Pointer => pointer.refuse(error.to_string(), fields.findings),
            },
        }
    })
}
