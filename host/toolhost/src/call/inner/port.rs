//! The port through which a component calls other tools.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use serde_json::Value;
use toolhost_contract::{JsonLimits, JsonSchemaObject, ToolCall, ToolCatalogItem, ToolErrorCode};
use toolhost_runtime::lock;
use toolhost_sandbox::{CallFailure, OuterCall, StartedCall, ToolEntry, ToolsPort};

use super::calls::{Calls, failure_of, json_of};
use super::run::InnerCall;
use super::started::StartedRecord;
use crate::call::outer::OuterCalls;
use crate::catalog::search::hits::bounded_query;
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

    fn search(&self, query: &str, limit: usize) -> Vec<ToolEntry> {
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
        hits.into_iter().map(entry_of).collect()
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
            running: StartedRecord::begin(calls, &id, name, running),
            scope,
            call: ToolCall::new(id, name, args),
            started: Arc::clone(&started),
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
