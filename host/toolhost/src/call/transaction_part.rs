//! The part that an inner call has of the transaction of a call around it.

use std::sync::Arc;

use toolhost_contract::text::shorten;
use toolhost_contract::{CommitCondition, Locale, ToolError, ToolErrorCode};
use toolhost_manifest::policy::AskRules;
use toolhost_runtime::lock;

use super::hints;
use super::outer::JoinedTransaction;
use super::run::Answer;
use crate::middleware::CallIdentity;

/// Most characters of an output that a message has.
const OUTPUT_SHOWN: usize = 500;

/// What an inner call and its own calls change of a transaction. If it is dropped before it is kept, its changes would
/// have to be undone.
pub(super) struct TransactionPart {
    joined: Arc<JoinedTransaction>,
    call: CallIdentity,
    is_kept: bool,
    /// How the call ended.
    ended: String,
}

impl TransactionPart {
    pub(super) fn begin(transaction: &JoinedTransaction, call: &CallIdentity) -> Self {
        Self {
            joined: transaction.part(),
            call: call.clone(),
            is_kept: false,
            ended: "was stopped".to_owned(),
        }
    }

    /// The transaction, for the call and those within it.
    pub(super) fn joined(&self) -> &Arc<JoinedTransaction> {
        &self.joined
    }

    /// Leaves the changes of a call that succeeded to the outer call, if its output meets `when`. They have to wait with
    /// those of the outer call where these rules say so.
    ///
    /// # Errors
    /// The call's own error; or `E_TOOL_CALL_NOT_UNDONE` if its changes would have to be undone, so that who made the call
    /// learns it now, and not when all is over.
    pub(super) fn end(
        mut self,
        answer: Result<Answer, ToolError>,
        when: Option<&CommitCondition>,
        rules: Option<&Arc<AskRules>>,
    ) -> Result<Answer, ToolError> {
        let answer =
            answer.inspect_err(|error| self.ended = format!("failed with {}", error.code))?;
        let has_changed = self.joined.workdir.has_staged();
        if let Some(rules) = rules.filter(|_| has_changed) {
            lock(&self.joined.asks).push(Arc::clone(rules));
        }
        let (Some(when), true) = (when.filter(|when| !answer.meets(when)), has_changed) else {
            self.is_kept = true;
            return Ok(answer);
        };
        let (unmet, output) = match &answer {
            Answer::Output(output) => (when.unmet(output), output.to_string()),
            Answer::Pending(_) | Answer::Held(..) => {
                ("it has no output yet".to_owned(), "pending".to_owned())
            }
        };
        self.ended = format!("ended without success ({unmet})");
        let (tool, locale) = (&self.call.tool_name, self.call.origin.locale);
        let message = format!(
            "Tool '{tool}' ended without success ({unmet}) after it had changed files, and its changes cannot be undone \
             alone: none of the whole will be kept. Its output was {}",
            shorten(&output, OUTPUT_SHOWN)
        );
        let mut error = ToolError::host(ToolErrorCode::CallNotUndone, message, locale);
        let advice = match locale {
            Locale::En => {
                "If its failure does not matter, let it succeed, such as a command with `|| true`."
            }
            Locale::Ko => "실패해도 괜찮다면 명령에 `|| true`를 붙이는 등 성공으로 끝나게 하세요.",
        };
        hints::suggest_also(&mut error, advice);
        Err(error)
    }
}

impl Drop for TransactionPart {
    fn drop(&mut self) {
        if self.is_kept || !self.joined.workdir.has_staged() {
            return;
        }
        let CallIdentity {
            call_id, tool_name, ..
        } = &self.call;
        let ended = &self.ended;
        // The first one is named.
        let _ = (self.joined.not_undone).set(format!("'{call_id}' of tool '{tool_name}' {ended}"));
    }
}
