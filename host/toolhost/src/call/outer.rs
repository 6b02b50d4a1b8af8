//! What a call that another call makes has of the calls around it.

pub(super) mod budget;

use std::sync::{Arc, Mutex, OnceLock};

use toolhost_contract::{ResourceName, ToolError, ToolErrorCode};
use toolhost_manifest::policy::AskRules;
use toolhost_sandbox::{OuterCall, Workdir};

use self::budget::Budget;
use crate::budgets::spent::InnerSpent;
use crate::middleware::CallIdentity;

/// What an inner call has of the calls around it.
#[derive(Clone)]
pub(crate) struct OuterCalls {
    /// The called Tools, the outermost first.
    pub(super) chain: Arc<[ResourceName]>,
    pub(super) budget: Arc<Budget>,
    /// The call that made this one.
    pub(super) caller: OuterCall,
    /// What the calls within the calling one have used; none if it has no budget.
    pub(super) spent: Option<Arc<InnerSpent>>,
    /// The transaction of an outer call, of which this call's changes are a part.
    pub(super) transaction: Option<Arc<JoinedTransaction>>,
}

/// The transaction of a call that inner calls are a part of.
pub(super) struct JoinedTransaction {
    /// What the calls have as their workdir.
    pub(super) workdir: Workdir,
    /// How the inner call ended whose changes would have to be undone, and cannot be without the others.
    pub(super) not_undone: Arc<OnceLock<String>>,
    /// The rules of the calls whose changes may have to wait.
    pub(super) asks: Arc<Mutex<Vec<Arc<AskRules>>>>,
}

impl JoinedTransaction {
    pub(super) fn new(workdir: Workdir) -> Arc<Self> {
        Arc::new(Self {
            workdir,
            not_undone: Arc::default(),
            asks: Arc::default(),
        })
    }

    /// Returns a handle that tells apart what one inner call changes.
    pub(super) fn part(&self) -> Arc<Self> {
        Arc::new(Self {
            workdir: self.workdir.part(),
            not_undone: Arc::clone(&self.not_undone),
            asks: Arc::clone(&self.asks),
        })
    }

    /// Returns the error of the outer call, if an inner one keeps it from being committed.
    pub(super) fn check(&self, call: &CallIdentity) -> Result<(), ToolError> {
        let Some(inner) = self.not_undone.get() else {
            return Ok(());
        };
        let message = format!(
            "Tool '{}' failed: its call {inner} after it had changed files, and the changes of one call cannot be undone alone.",
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
