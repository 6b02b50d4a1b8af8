//! The one path from a [`ToolCall`] to a [`ToolResult`].
//!
//! middleware, admission (is the tool in the step's catalog?), validation (are the arguments valid?),
//! the run (in the sandbox, or an extension's handler), exit (limits and redaction). No stage can be
//! skipped: each takes a type that only the previous stage creates.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use toolhost_contract::{
    AssistantMessage, ErrorMessageLimit, ToolCall, ToolError, ToolErrorCode, ToolResult,
};
use toolhost_sandbox::Operation;
use tracing::Instrument;

use super::cancellation::{TURN_CANCELLED, cancelled_result, run_until};
use super::consent::gate::Gate;
use super::consent::{self, HeldCall, Refused};
use super::exit::exit;
use super::inner::InnerCalls;
use super::run::{ComponentRun, RunEnd};
use super::scope::CallScope;
use super::tools_call::NamedCall;
use super::validate::{ValidCall, admit, validate};
use super::{acceptance, catalog_search, native};
use crate::budgets::spent::InnerSpent;
use crate::middleware::catch_unwind::{Panicked, catch_unwind};
use crate::middleware::{CallIdentity, CallKind, Progress, ToolCallContext};
use crate::registry::{CatalogTool, Runs, ToolRegistry};

/// Executes a call. Never panics; dropping the future stops the guest, and so does cancelling the token of
/// the turn, unless the call runs in the background.
pub(crate) async fn execute(
    scope: &CallScope,
    call: ToolCall,
    identity: &CallIdentity,
    message: &AssistantMessage,
) -> ToolResult {
    let turn = &scope.turn;
    let running = match turn.begin_call() {
        Ok(running) => running,
        Err(error) => return identity.error(error),
    };
    let tool = scope.registered(&running.registry, &call.name);
    let limit = tool.map_or(ErrorMessageLimit::DEFAULT, |tool| tool.error_message_limit);
    let registry = &running.registry;
    let result = match scope.cancellation() {
        Some(token) => {
            let running = boxed(scope, registry, call, identity, message);
            let result = run_until(token.cancelled(), running).await;
            result.unwrap_or_else(|| cancelled_result(identity, TURN_CANCELLED))
        }
        // Pinned where it is: these futures are large, and each move copies them.
        None if scope.layers().is_empty() => {
            pin!(run_admitted(scope, registry, call, identity, message, None)).await
        }
        None => run_layers(scope, registry, call, identity, message).await,
    };
    let redactor = &turn.agent().host.redactor;
    let result = exit(redactor, result, limit);
    turn.record_result(&result);
    scope.note(&result);
    result
}

/// Returns a call in a box, so that the futures of calls that nothing can cancel are smaller.
fn boxed<'a>(
    scope: &'a CallScope,
    registry: &'a Arc<ToolRegistry>,
    call: ToolCall,
    identity: &'a CallIdentity,
    message: &'a AssistantMessage,
) -> BoxFuture<'a, ToolResult> {
    if scope.layers().is_empty() {
        return Box::pin(run_admitted(scope, registry, call, identity, message, None));
    }
    Box::pin(run_layers(scope, registry, call, identity, message))
}

/// Runs the `toolCall` middleware around the call.
async fn run_layers(
    scope: &CallScope,
    registry: &Arc<ToolRegistry>,
    call: ToolCall,
    identity: &CallIdentity,
    message: &AssistantMessage,
) -> ToolResult {
    let turn = &scope.turn;
    let kind = match (scope.catalog.get(&call.name), &scope.outer) {
        (Some(_), None) => CallKind::Call,
        (Some(_), Some(_)) => CallKind::CallOfTool,
        (None, _) => CallKind::CallOutsideCatalog,
    };
    let progress = Arc::default();
    let step = (scope.catalog.clone(), scope.extensions());
    let context = ToolCallContext::new(identity, call, kind, step, &progress);
    let (mut inner, message, beneath) = (scope.clone(), message.clone(), Arc::clone(&progress));
    let (registry, of_call) = (Arc::clone(registry), identity.clone());
    let core = move |context: ToolCallContext| -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            inner.extensions = Some(context.extensions.clone());
            let call = context.into_call();
            let running = pin!(run_admitted(
                &inner,
                &registry,
                call,
                &of_call,
                &message,
                Some(&beneath)
            ));
            let result = running.await;
            beneath.set_result(&result);
            result
        })
    };
    let result = scope.layers().run(context, core).await;
    let result = progress.sanitize_codes(result, turn.locale());
    result.with_call(&identity.call_id, &identity.tool_name)
}

/// Runs a stored call, beneath the middleware.
pub(crate) async fn run_stored(
    scope: &CallScope,
    call: ToolCall,
    identity: &CallIdentity,
    message: &AssistantMessage,
    progress: &Progress,
) -> ToolResult {
    let running = match scope.turn.begin_call() {
        Ok(running) => running,
        Err(error) => return identity.error(error),
    };
    let registry = &running.registry;
    let result = run_admitted(scope, registry, call, identity, message, Some(progress)).await;
    scope.turn.record_result(&result);
    result
}

/// Runs what the middleware is around. A panic in it, such as in a `tracing` layer, is `E_HOST`.
async fn run_admitted(
    scope: &CallScope,
    registry: &ToolRegistry,
    call: ToolCall,
    identity: &CallIdentity,
    message: &AssistantMessage,
    progress: Option<&Progress>,
) -> ToolResult {
    let attempt = pin!(attempt(scope, registry, call, identity, message, progress));
    match catch_unwind(attempt).await {
        Ok(end) => end.into_result(identity),
        Err(Panicked) => {
            let message = format!("Tool '{}' failed: the host panicked.", identity.tool_name);
            let error = ToolError::host(ToolErrorCode::Host, message, scope.turn.locale());
            identity.error(error)
        }
    }
}

/// Admits, validates and runs a call.
async fn attempt(
    scope: &CallScope,
    registry: &ToolRegistry,
    call: ToolCall,
    identity: &CallIdentity,
    message: &AssistantMessage,
    progress: Option<&Progress>,
) -> RunEnd {
    let valid = match admit(scope, registry, call) {
        Ok(admitted) => validate(scope, admitted, message).await,
        Err(refusal) => Err(refusal),
    };
    match valid {
        Ok(valid) => {
            progress.inspect(|progress| progress.set_running());
            pin!(run(scope, registry, identity, valid, message)).await
        }
        Err(refusal) => RunEnd::refused(refusal),
    }
}

/// Runs a valid call, and counts it for its budgets.
async fn run(
    scope: &CallScope,
    registry: &ToolRegistry,
    identity: &CallIdentity,
    valid: ValidCall<'_>,
    message: &AssistantMessage,
) -> RunEnd {
    let end = match (&valid.permit.budgets, &valid.tool.runs) {
        (Some(budgets), Runs::Component(_) | Runs::Native { .. }) => {
            let (turn, tool) = (&scope.turn, &valid.tool.item.name);
            let caller = turn.instance.caller();
            let host = &turn.agent().host;
            // Boxed, so that the futures of calls without a budget are smaller.
            let begun = Box::pin(host.budgets.begin(budgets, caller, tool, turn.locale()));
            let counted = match begun.await {
                Ok(counted) => counted,
                Err(refusal) => return RunEnd::refused(refusal),
            };
            let spent = Some(Arc::clone(counted.inner()));
            let end = pin!(run_counted(
                scope, registry, identity, valid, message, spent
            ))
            .await;
            Box::pin(counted.end(&end.usage)).await;
            end
        }
        // What a tool of the catalog calls is counted.
        (Some(_), Runs::Catalog { .. }) | (None, _) => {
            pin!(run_counted(scope, registry, identity, valid, message, None)).await
        }
    };
    let outer = scope.outer.as_ref().and_then(|outer| outer.spent.as_ref());
    outer.inspect(|spent| spent.add(&end.usage));
    end
}

/// Runs a valid call: in the sandbox, or in this process if an extension handles it.
async fn run_counted(
    scope: &CallScope,
    registry: &ToolRegistry,
    identity: &CallIdentity,
    valid: ValidCall<'_>,
    message: &AssistantMessage,
    spent: Option<Arc<InnerSpent>>,
) -> RunEnd {
    let (turn, tool) = (&scope.turn, valid.tool);
    let consent = match &valid.permit.ask {
        None => None,
        // In a box, so that the futures of other calls are smaller.
        Some(_) => match Box::pin(consented(scope, identity, &valid, message)).await {
            Ok(consent) => consent,
            Err(ended) => return ended,
        },
    };
    let component = match &tool.runs {
        Runs::Native { owner, handler } => {
            let handler = (owner, &**handler);
            return native::run(scope, identity, valid, message, handler).await;
        }
        Runs::Catalog { tool, .. } => {
            return on_catalog(*tool, scope, registry, identity, valid).await;
        }
        Runs::Component(component) => component,
    };
    let run = ComponentRun {
        turn,
        call: identity,
        message,
        tool,
        component,
        inner: InnerCalls::of(
            (scope, consent.as_ref()),
            identity,
            tool.item.name.resource(),
            &valid.permit,
            spent,
            execute_inner,
        ),
        outer: scope.outer.clone(),
        consent,
        handle: scope.handle().cloned(),
        permit: valid.permit,
        fence: None,
        protected: scope.protected.clone(),
    };
    let operation = Operation::Handler {
        name: tool.item.name.export().clone(),
        input: valid.input,
    };
    // Dropped before the next future begins, so that they share their memory.
    let answered = pin!(run.answer(operation)).await;
    match answered {
        Ok(ended) => pin!(acceptance::finish(scope, identity, message, ended)).await,
        Err(refused) => refused,
    }
}

/// Decides whether a valid call may run now. Returns what its run needs if its effects may wait.
///
/// # Errors
/// The end of a call that is refused, or waits before it runs.
async fn consented(
    scope: &CallScope,
    identity: &CallIdentity,
    valid: &ValidCall<'_>,
    message: &AssistantMessage,
) -> Result<Option<Arc<Gate>>, RunEnd> {
    let (turn, tool, permit) = (&scope.turn, valid.tool, &valid.permit);
    let call = (&valid.args, valid.input.as_str());
    match consent::check(turn, tool, permit, call, scope.release.as_ref()) {
        Ok(consent) => Ok(consent),
        Err(Refused::Ended(error)) => Err(RunEnd::refused(*error)),
        Err(Refused::Hold) => {
            let held = HeldCall {
                turn,
                call: identity,
                message,
                tool,
                permit,
                handle: scope.handle().cloned(),
                is_inner: scope.outer.is_some(),
            };
            Err(held.hold_call(&valid.args, &valid.input).await)
        }
    }
}

/// Runs a tool over the catalog of the step. Boxed: a call may be within it.
fn on_catalog<'a>(
    tool: CatalogTool,
    scope: &'a CallScope,
    registry: &'a ToolRegistry,
    identity: &'a CallIdentity,
    valid: ValidCall<'a>,
) -> BoxFuture<'a, RunEnd> {
    Box::pin(async move {
        if tool == CatalogTool::Search {
            return catalog_search::run(scope, identity, valid).await;
        }
        let inner = match NamedCall::of(scope, registry, identity, valid.args) {
            Ok(inner) => inner,
            Err(refusal) => return RunEnd::refused(refusal),
        };
        let activity = scope.inner_activity(&inner.identity, &inner.call);
        let executed = execute(scope, inner.call, &inner.identity, &inner.message);
        let result = executed.instrument(activity.span().clone()).await;
        activity.end_call(&result);
        RunEnd::of(result)
    })
}

/// Executes a call that another call makes.
fn execute_inner<'a>(
    scope: &'a CallScope,
    call: ToolCall,
    identity: &'a CallIdentity,
    message: &'a AssistantMessage,
) -> BoxFuture<'a, ToolResult> {
    Box::pin(execute(scope, call, identity, message))
}
