//! The port through which a component calls other tools.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use futures_util::future::BoxFuture;
use serde_json::Value;
use toolhost_contract::{JsonLimits, JsonSchemaObject, ToolCall, ToolCatalogItem, ToolErrorCode};
use toolhost_runtime::lock;
use toolhost_sandbox::{CallFailure, OuterCall, StartedCall, ToolEntry, ToolsPort};

use super::calls::{Calls, failure_of, json_of};
use super::run::InnerCall;
use super::started::StartedRecord;
use crate::call::outer::OuterCalls;
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

impl ToolsPort for InnerCallsPort {
    fn names(&self) -> Vec<String> {
        let items = self.0.items();
        items.map(|item| item.name.as_str().to_owned()).collect()
    }

    fn describe(&self, name: &str) -> Result<ToolEntry, CallFailure> {
        self.0.item(name).map(entry_of)
    }

    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Vec<ToolEntry>> {
        let calls = &self.0;
        let admits = |item: &ToolCatalogItem| calls.callable.admits(item);
        let searched = calls
            .scope
            .search(query, limit, Some(&calls.caller), admits);
        Box::pin(async move {
            let hits = searched.await.into_iter();
            hits.map(|hit| entry_of(hit.item)).collect()
        })
    }

    fn start(
        &self,
        name: &str,
        arguments: &str,
        caller: OuterCall,
    ) -> Result<Arc<StartedCall>, CallFailure> {
        let calls = &self.0;
        let item = calls.item(name)?;
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
            let what = format!("Tool '{}' was not called", display_name(name));
            failure_of(calls.over_budget(&what, &limit), None)
        })?;
        lock(&calls.usage).count += 1;
        let number = calls.number.fetch_add(1, Relaxed);
        let id = format!("{}/{number}", calls.caller.call_id);
        let started = Arc::new(StartedCall::new(id.clone()));
        let gate = calls.gate.as_ref();
        if let Some(answer) = gate.and_then(|gate| gate.answer_of_call(name, arguments)) {
            drop(running);
            started.end(answer.map_err(|error| CallFailure {
                error: Box::new(error),
                parameters: None,
                denied: None,
            }));
            return Ok(started);
        }
        let mut scope = calls.scope.clone();
        scope.outer = Some(Arc::new(OuterCalls {
            chain: Arc::clone(calls.callable.chain()),
            budget: Arc::clone(&calls.budget),
            caller,
            spent: calls.spent.clone(),
            transaction: calls.transaction.get().map(|transaction| match gate {
                None => Arc::clone(transaction),
                Some(_) => transaction.part(),
            }),
        }));
        let call = InnerCall {
            running: StartedRecord::begin(calls, &id, name, running),
            scope,
            call: ToolCall::new(id, name, args),
            started: Arc::clone(&started),
            repeatable: gate.map(|gate| (arguments.to_owned(), gate.begin_call())),
        };
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
