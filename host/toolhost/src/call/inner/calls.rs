//! What the port of a call and what drives its calls share.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use toolhost_contract::{
    AssistantMessage, Denial, ErrorCode, HandlerError, JsonSchemaObject, ResourceName, ToolCall,
    ToolCallsUsage, ToolCatalogItem, ToolError, ToolErrorCode, ToolPattern, ToolResult,
};
use toolhost_sandbox::CallFailure;

use crate::call::outer::JoinedTransaction;
use crate::call::outer::budget::Budget;
use crate::call::scope::CallScope;
use crate::catalog::tool_names::is_catalog_tool;
use crate::middleware::CallIdentity;

/// Most calls within each other, the outermost included.
const DEPTH_MAX: usize = 3;

/// Executes a call: the executor, which imports this.
pub(super) type Execute = for<'a> fn(
    &'a CallScope,
    ToolCall,
    &'a CallIdentity,
    &'a AssistantMessage,
) -> BoxFuture<'a, ToolResult>;

/// What the port of a call and what drives its calls share.
pub(super) struct Calls {
    /// The scope of the inner calls, but for its transaction.
    pub(super) scope: CallScope,
    /// The Tools around an inner call: the calling one is the last.
    pub(super) chain: Vec<ResourceName>,
    pub(super) budget: Arc<Budget>,
    pub(super) grant: Arc<[ToolPattern]>,
    pub(super) execute: Execute,
    pub(super) caller: CallIdentity,
    pub(super) transaction: OnceLock<Arc<JoinedTransaction>>,
    /// Calls that were started and are not polled yet.
    pub(super) started: Mutex<Vec<BoxFuture<'static, ()>>>,
    pub(super) waker: AtomicWaker,
    /// How many run.
    pub(super) running: AtomicUsize,
    pub(super) usage: Mutex<ToolCallsUsage>,
}

impl Calls {
    pub(super) fn is_granted(&self, name: &str) -> bool {
        self.grant.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether a tool may be called from here: neither one of those that call, nor `tools__call`, through which any of
    /// them could be.
    pub(super) fn may_call(&self, item: &ToolCatalogItem) -> bool {
        !self.chain.contains(item.name.resource()) && !is_catalog_tool(item)
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &ToolCatalogItem> {
        let items = self.scope.catalog.items().iter();
        items.filter(|item| self.is_granted(item.name.as_str()) && self.may_call(item))
    }

    pub(super) fn error(&self, code: ToolErrorCode, message: impl Into<String>) -> ToolError {
        ToolError::host(code, message, self.caller.origin.locale)
    }

    /// Returns the item of a tool that may be called.
    ///
    /// # Errors
    /// Why it may not be called.
    pub(super) fn item(&self, name: &str) -> Result<&ToolCatalogItem, ToolError> {
        let locale = self.caller.origin.locale;
        let item = self.scope.catalog.admit(name, locale)?;
        if !self.is_granted(name) {
            let message = format!(
                "The operator's policy does not allow tool '{}' to call '{name}'.",
                self.caller.tool_name
            );
            let mut error = self.error(ToolErrorCode::Denied, message);
            let line = self
                .chain
                .last()
                .map(|tool| Denial::tool_call(name).policy_line(tool));
            if let (Some(Ok(line)), Some(suggestion)) = (line, &mut error.suggestion) {
                suggestion.push_str(&format!(" This line of the policy allows it: {line}"));
            }
            return Err(error);
        }
        if !self.may_call(item) {
            let message = format!(
                "Tool '{name}' cannot be called from within a call of '{}'.",
                self.caller.tool_name
            );
            return Err(self.error(ToolErrorCode::CallLimit, message));
        }
        if self.chain.len() >= DEPTH_MAX {
            let message = format!("At most {DEPTH_MAX} calls within each other are allowed.");
            return Err(self.error(ToolErrorCode::CallLimit, message));
        }
        Ok(item)
    }
}

/// Returns the failure of a call; with the schema of the tool's arguments, if they were the reason.
pub(super) fn failure_of(error: ToolError, item: Option<&ToolCatalogItem>) -> CallFailure {
    let is_for_args = error.code == ErrorCode::Host(ToolErrorCode::InvalidArgs);
    let parameters = item
        .filter(|_| is_for_args)
        .and_then(|item| item.parameters.as_ref());
    CallFailure {
        parameters: parameters.map(json_of),
        // With its code, whoever's it is: the port passes it on, and no guest can raise one of the host's.
        error: Box::new(HandlerError {
            code: Some(error.code.as_str().to_owned()),
            ..error.into_handler_error()
        }),
    }
}

pub(super) fn json_of(schema: &JsonSchemaObject) -> String {
    // An object is always written.
    serde_json::to_string(schema.as_object()).unwrap_or_default()
}
