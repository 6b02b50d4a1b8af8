//! What a call that another call makes has of the calls around it.

pub(super) mod budget;

use std::sync::{Arc, OnceLock};

use toolhost_contract::{ResourceName, ToolError, ToolErrorCode};
use toolhost_sandbox::{OuterCall, Workdir};

use self::budget::Budget;
use crate::middleware::CallIdentity;

/// What an inner call has of the calls around it.
#[derive(Clone)]
pub(crate) struct OuterCalls {
    /// The called Tools, the outermost first.
    pub(super) chain: Vec<ResourceName>,
    pub(super) budget: Arc<Budget>,
    /// The call that made this one.
    pub(super) caller: OuterCall,
    /// The transaction of an outer call, of which this call's changes are a part.
    pub(super) transaction: Option<Arc<JoinedTransaction>>,
}

/// The transaction of a call that inner calls are a part of.
pub(super) struct JoinedTransaction {
    /// What the calls have as their workdir.
    pub(super) workdir: Workdir,
    /// The inner call whose changes would have to be undone, and cannot be without the others.
    not_undone: Arc<OnceLock<String>>,
}

impl JoinedTransaction {
    pub(super) fn new(workdir: Workdir) -> Arc<Self> {
        Arc::new(Self {
            workdir,
            not_undone: Arc::default(),
        })
    }

    /// Returns the error of the outer call, if an inner one keeps it from being committed.
    pub(super) fn check(&self, call: &CallIdentity) -> Result<(), ToolError> {
        let Some(inner) = self.not_undone.get() else {
            return Ok(());
        };
        let message = format!(
            "Tool '{}' failed: its call {inner} failed after it had changed files, and the changes of one call cannot be undone alone.",
            call.tool_name
        );
        let locale = call.origin.locale;
        Err(ToolError::host(
            ToolErrorCode::CallNotUndone,
            message,
            locale,
        ))
    }
}

/// What an inner call and its own calls change of a transaction. If it is dropped before it is kept, its changes would
/// have to be undone.
pub(super) struct TransactionPart {
    joined: Arc<JoinedTransaction>,
    call: CallIdentity,
    is_kept: bool,
}

impl TransactionPart {
    pub(super) fn begin(transaction: &JoinedTransaction, call: &CallIdentity) -> Self {
        let joined = JoinedTransaction {
            workdir: transaction.workdir.part(),
            not_undone: Arc::clone(&transaction.not_undone),
        };
        Self {
            joined: Arc::new(joined),
            call: call.clone(),
            is_kept: false,
        }
    }

    /// The transaction, for the call and those within it.
    pub(super) fn joined(&self) -> &Arc<JoinedTransaction> {
        &self.joined
    }

    /// Leaves the changes to the outer call.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
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
        // The first one is named.
        let _ = (self.joined.not_undone).set(format!("'{call_id}' of tool '{tool_name}'"));
    }
}
