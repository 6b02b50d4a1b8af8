//! What the port of a call and what drives its calls share.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use toolhost_contract::suggest::closest;
use toolhost_contract::{
    AssistantMessage, Denial, ErrorCode, HandlerError, JsonSchemaObject, Locale, ToolCall,
    ToolCallsUsage, ToolCatalogItem, ToolError, ToolErrorCode, ToolResult,
};
use toolhost_sandbox::CallFailure;

use super::last_stopped::LastStopped;
use crate::budgets::spent::InnerSpent;
use crate::call::consent::gate::Gate;
use crate::call::hints;
use crate::call::outer::JoinedTransaction;
use crate::call::outer::budget::{Budget, CallLimit};
use crate::call::scope::CallScope;
use crate::catalog::callable::{CallableTools, DEPTH_MAX};
use crate::catalog::not_in_catalog;
use crate::catalog::tool_names::is_catalog_tool;
use crate::middleware::CallIdentity;

/// What to do in the place of a call of a tool within a call of its own.
const WITHIN_ITSELF: [&str; 2] = [
    "No tool is called again within a call of its own: do its work in the calling one, or after it.",
    "도구는 자신의 호출 안에서 다시 호출할 수 없습니다. 호출하는 쪽에서 직접 처리하거나 끝난 뒤에 호출하세요.",
];

/// What to do in the place of a call of a tool that calls or searches tools.
const WITHIN_CATALOG_TOOL: [&str; 2] = [
    "Call the tool by its own name, and search with tools.search(…).",
    "도구를 그 이름으로 직접 호출하고, tools.search(…)로 찾으세요.",
];

/// What to do in the place of a call that lies too deep.
const TOO_DEEP: [&str; 2] = [
    "Make the call from one further out: no policy allows more.",
    "더 바깥쪽 호출에서 부르세요. 정책으로는 더 늘릴 수 없습니다.",
];

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
    /// Has the outputs that an earlier run of the caller got, where its effects may wait.
    pub(super) gate: Option<Arc<Gate>>,
    pub(super) callable: CallableTools,
    pub(super) budget: Arc<Budget>,
    pub(super) execute: Execute,
    pub(super) caller: CallIdentity,
    /// What its calls have used; none if it has no budget.
    pub(super) spent: Option<Arc<InnerSpent>>,
    pub(super) transaction: OnceLock<Arc<JoinedTransaction>>,
    /// Calls that were started and are not polled yet.
    pub(super) started: Mutex<Vec<BoxFuture<'static, ()>>>,
    pub(super) waker: AtomicWaker,
    /// The number of the next one.
    pub(super) number: AtomicUsize,
    /// How many run.
    pub(super) running: AtomicUsize,
    pub(super) usage: Mutex<ToolCallsUsage>,
    /// The call that was stopped last.
    pub(super) stopped: Mutex<Option<LastStopped>>,
}

impl Calls {
    pub(super) fn items(&self) -> impl Iterator<Item = &ToolCatalogItem> {
        self.callable.of(&self.scope.catalog)
    }

    pub(super) fn error(&self, code: ToolErrorCode, message: impl Into<String>) -> ToolError {
        ToolError::host(code, message, self.caller.origin.locale)
    }

    /// Returns the item of a tool that may be called.
    ///
    /// # Errors
    /// Why it may not be called.
    pub(super) fn item(&self, name: &str) -> Result<&ToolCatalogItem, CallFailure> {
        let item = match self.scope.catalog.get(name) {
            Some(item) => item,
            // A name that a program made of this one: that it is denied is the answer.
            None => match self.alike(name) {
                Some(item) if !self.callable.admits(item) => item,
                alike => return Err(failure_of(self.unknown(name, alike), None)),
            },
        };
        if !self.callable.is_granted(item) {
            return Err(self.denied(item));
        }
        if !self.callable.is_callable_within(item) {
            let message = format!(
                "Tool '{}' cannot be called from within a call of '{}'.",
                item.name, self.caller.tool_name
            );
            let advice = if is_catalog_tool(item) {
                WITHIN_CATALOG_TOOL
            } else {
                WITHIN_ITSELF
            };
            return Err(failure_of(self.beyond(message, advice), None));
        }
        if self.callable.is_deepest() {
            let message = format!("At most {DEPTH_MAX} calls within each other are allowed.");
            return Err(failure_of(self.beyond(message, TOO_DEEP), None));
        }
        Ok(item)
    }

    /// Returns the tool whose name differs from this one in case and in `-`, `_` and `.` alone; one that may be called, if
    /// there are several.
    fn alike(&self, name: &str) -> Option<&ToolCatalogItem> {
        let items = self.scope.catalog.items().iter();
        let alike = items.filter(|item| folded(item.name.as_str()).eq(folded(name)));
        alike.max_by_key(|item| self.callable.admits(item))
    }

    /// The error of a name that no tool has.
    fn unknown(&self, name: &str, alike: Option<&ToolCatalogItem>) -> ToolError {
        let locale = self.caller.origin.locale;
        // No tool is suggested that may not be called.
        let names: Vec<&str> = self.items().map(|item| item.name.as_str()).collect();
        let similar = alike.map(|item| item.name.as_str());
        let similar = similar.or_else(|| closest(name, &names));
        let advice = match locale {
            Locale::En => "Use a name that tools.names() or tools.search(…) returns.",
            Locale::Ko => "tools.names()나 tools.search(…)가 돌려주는 이름을 사용하세요.",
        };
        not_in_catalog(name, similar, Some(advice), locale)
    }

    /// The failure of a call that the policy denies, with the line that allows it.
    fn denied(&self, item: &ToolCatalogItem) -> CallFailure {
        let name = &item.name;
        let message = format!(
            "The operator's policy does not allow tool '{}' to call '{name}'.",
            self.caller.tool_name
        );
        let mut error = self.error(ToolErrorCode::Denied, message);
        let denial = Denial::tool_call(name.as_str());
        let line = self
            .callable
            .chain()
            .last()
            .map(|tool| denial.policy_line(tool));
        if let (Some(Ok(line)), Some(suggestion)) = (line, &mut error.suggestion) {
            suggestion.push_str(&format!(" This line of the policy allows it: {line}"));
        }
        CallFailure {
            denied: Some(denial),
            ..failure_of(error, None)
        }
    }

    /// The error of a call beyond a limit, with what to do in English and in Korean.
    pub(super) fn beyond(&self, message: impl Into<String>, [en, ko]: [&str; 2]) -> ToolError {
        let mut error = self.error(ToolErrorCode::CallLimit, message);
        let advice = match self.caller.origin.locale {
            Locale::En => en,
            Locale::Ko => ko,
        };
        error.suggestion = Some(advice.to_owned());
        error
    }

    /// The error of a call that would exceed what the outermost call may use.
    pub(super) fn over_budget(&self, what: &str, limit: &CallLimit) -> ToolError {
        let error = self.beyond(format!("{what}: {limit}."), limit.advice);
        hints::suggest_raising(error, limit.key, self.caller.origin.locale)
    }
}

/// Returns what of a name its aliases have, too.
fn folded(name: &str) -> impl Iterator<Item = char> {
    let plain = name.chars().filter(|c| !"-_.".contains(*c));
    plain.map(|c| c.to_ascii_lowercase())
}

/// Returns the failure of a call; with the schema of the tool's arguments, if they were the reason.
pub(super) fn failure_of(error: ToolError, item: Option<&ToolCatalogItem>) -> CallFailure {
    let is_for_args = error.code == ErrorCode::Host(ToolErrorCode::InvalidArgs);
    let parameters = item
        .filter(|_| is_for_args)
        .and_then(|item| item.parameters.as_ref());
    CallFailure {
        parameters: parameters.map(json_of),
        denied: None,
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
