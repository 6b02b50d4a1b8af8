//! The port through which a component calls other tools.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use serde_json::Value;
use toolhost_contract::{
    Denial, ErrorCode, HandlerError, JsonLimits, JsonSchemaObject, ToolCall, ToolCatalogItem,
    ToolError, ToolErrorCode,
};
use toolhost_runtime::lock;
use toolhost_sandbox::{CallFailure, OuterCall, StartedCall, ToolEntry, ToolsPort};

use super::run::InnerCall;
use super::{Calls, DEPTH_MAX, OuterCalls};
use crate::catalog::search::hits::bounded_query;
use crate::catalog::tool_names::is_catalog_tool;
use crate::middleware::display_name;

/// The tools that one call may call: those of its step that the policy grants, but for the calling ones.
pub(super) struct InnerCallsPort(pub(super) Arc<Calls>);

impl fmt::Debug for InnerCallsPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InnerCallsPort")
            .field("caller", &self.0.caller)
            .finish_non_exhaustive()
    }
}

impl Calls {
    fn is_granted(&self, name: &str) -> bool {
        self.grant.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether a tool may be called from here: neither one of those that call, nor `tools__call`, through which any of
    /// them could be.
    fn may_call(&self, item: &ToolCatalogItem) -> bool {
        !self.chain.contains(item.name.resource()) && !is_catalog_tool(item)
    }

    fn items(&self) -> impl Iterator<Item = &ToolCatalogItem> {
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
    fn item(&self, name: &str) -> Result<&ToolCatalogItem, ToolError> {
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

impl ToolsPort for InnerCallsPort {
    fn names(&self) -> Vec<String> {
        let items = self.0.items();
        items.map(|item| item.name.as_str().to_owned()).collect()
    }

    fn describe(&self, name: &str) -> Result<ToolEntry, CallFailure> {
        let item = self.0.item(name);
        item.map(entry_of).map_err(|error| failure_of(error, None))
    }

    fn search(&self, query: &str, limit: usize) -> Result<Vec<ToolEntry>, HandlerError> {
        let calls = &self.0;
        let query = bounded_query(query);
        let (scope, host) = (&calls.scope, &calls.scope.turn.agent().host);
        // Those that may not be called leave room for others.
        let admits =
            |item: &ToolCatalogItem| calls.is_granted(item.name.as_str()) && calls.may_call(item);
        let hits = scope.catalog.search_among(query, limit, admits);
        let hits: Vec<_> = hits.into_iter().map(|hit| hit.item).collect();
        let emitter = &scope.turn.instance.emitter;
        emitter.searched(
            &calls.caller.origin,
            &scope.step_id,
            Some(&calls.caller),
            || {
                let names = hits.iter().map(|item| item.name.clone());
                (host.redactor.text(query).into_owned(), names.collect())
            },
        );
        Ok(hits.into_iter().map(entry_of).collect())
    }

    fn start(
        &self,
        name: &str,
        arguments: &str,
        caller: OuterCall,
    ) -> Result<Arc<StartedCall>, CallFailure> {
        let calls = &self.0;
        let item = calls.item(name);
        let item = item.map_err(|error| failure_of(error, None))?;
        let limits = &calls.scope.turn.agent().permit(item.name.resource()).limits;
        let args = match JsonLimits::of_input(limits).parse(arguments) {
            Ok(Value::Object(args)) => Ok(args),
            Ok(_) => Err("the arguments are not a JSON object".to_owned()),
            Err(error) => Err(format!("the arguments {error}")),
        };
        let args = args.map_err(|reason| {
            let message = format!("Invalid arguments for tool '{name}': {reason}");
            let error = calls.error(ToolErrorCode::InvalidArgs, message);
            failure_of(error, Some(item))
        })?;
        let running = calls.budget.begin(arguments.len()).map_err(|limit| {
            let message = format!("Tool '{}' was not called: {limit}.", display_name(name));
            failure_of(calls.error(ToolErrorCode::CallLimit, message), None)
        })?;
        let number = {
            let mut usage = lock(&calls.usage);
            usage.count += 1;
            usage.count
        };
        let id = format!("{}/{number}", calls.caller.call_id);
        let started = Arc::new(StartedCall::new(id.clone()));
        let mut scope = calls.scope.clone();
        scope.outer = Some(Arc::new(OuterCalls {
            chain: calls.chain.clone(),
            budget: Arc::clone(&calls.budget),
            caller,
            transaction: calls.transaction.get().cloned(),
        }));
        let call = InnerCall {
            calls: Arc::clone(calls),
            scope,
            call: ToolCall::new(id, name, args),
            started: Arc::clone(&started),
            running,
        };
        calls.running.fetch_add(1, Relaxed);
        lock(&calls.started).push(Box::pin(call.run()));
        calls.waker.wake();
        Ok(started)
    }

    fn is_running(&self) -> bool {
        self.0.running.load(Relaxed) > 0
    }
}

fn entry_of(item: &ToolCatalogItem) -> ToolEntry {
    let schema = |schema: &JsonSchemaObject| json_of(schema);
    let parameters = item.parameters.as_ref();
    ToolEntry {
        name: item.name.as_str().to_owned(),
        description: item.description.clone(),
        parameters: parameters.map_or_else(|| "{\"type\":\"object\"}".to_owned(), schema),
        output_schema: item.output_schema.as_ref().map(schema),
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

fn json_of(schema: &JsonSchemaObject) -> String {
    // An object is always written.
    serde_json::to_string(schema.as_object()).unwrap_or_default()
}
