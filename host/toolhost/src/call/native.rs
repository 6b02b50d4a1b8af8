//! Runs an extension's handler within the deadline and the limits of its tool.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use toolhost_contract::{AssistantMessage, ToolContext, ToolError, ToolErrorCode, Usage};
use toolhost_sandbox::{Limits, LiveLog, SandboxError};

use super::cancellation::with_own_commits;
use super::failure::{failure, normalised};
use super::output_schema;
use super::run::{Answer, RunEnd};
use super::scope::CallScope;
use super::validate::ValidCall;
use crate::handler::{HandlerContext, HandlerFailure, Logger, ToolHandler};
use crate::middleware::catch_unwind::{Panicked, catch_unwind};
use crate::middleware::{CallIdentity, Extensions};
use crate::workdir_provider::end_call;
use toolhost_schema::json;

pub(super) async fn run(
    scope: &CallScope,
    identity: &CallIdentity,
    valid: ValidCall<'_>,
    message: &AssistantMessage,
    (owner, handler): (&Arc<str>, &dyn ToolHandler),
) -> RunEnd {
    let mut usage = Usage::default();
    let opening = scope.turn.open_workdir(identity);
    let directory = match opening.await {
        Ok(directory) => directory,
        Err(error) => return RunEnd::refused(error),
    };
    // Dropped with this future: a logger that the handler keeps no longer reaches the turn's listener.
    let live_log = scope
        .turn
        .log_sink(identity)
        .map(|sink| Arc::new(LiveLog::new(sink, &valid.permit.limits)));
    let context = HandlerContext {
        context: ToolContext {
            workdir: directory.workdir.path(),
            ..identity.tool_context(message)
        },
        workdir: directory.workdir,
        logger: Logger::of_call(owner, live_log.as_ref()),
        agents: scope.turn.options.agents.clone(),
        // Without layers, the scope has those of the step or the turn.
        extensions: Extensions::within(scope.extensions()),
    };
    let tool = valid.tool;
    let answer = call(scope, valid, context, handler, &mut usage).await;
    // Before the transaction ends: an output that does not fit is a failed call.
    let answer = output_schema::checked(&scope.turn, tool, answer).await;
    let locale = scope.turn.locale();
    let answer = end_call(answer, directory.transaction, locale).await;
    RunEnd {
        has_answered: answer.is_ok(),
        answer,
        usage,
        recording: None,
    }
}

async fn call(
    scope: &CallScope,
    valid: ValidCall<'_>,
    context: HandlerContext,
    handler: &dyn ToolHandler,
    usage: &mut Usage,
) -> Result<Answer, ToolError> {
    let (name, locale) = (&valid.tool.item.name, scope.turn.locale());
    let Value::Object(args) = valid.args else {
        let message = format!("The arguments of '{name}' are not a JSON object.");
        return Err(ToolError::host(ToolErrorCode::InvalidArgs, message, locale));
    };
    let limits = &valid.permit.limits;
    let panicked = |Panicked| {
        let message = format!("Tool '{name}' failed: its handler panicked.");
        ToolError::host(ToolErrorCode::Trap, message, locale)
    };
    let own_deadline = catch_unwind(async { handler.deadline(&args) }).await;
    let deadline = match (own_deadline.map_err(panicked)?, valid.permit.sets_deadline) {
        (Some(own_deadline), false) => own_deadline,
        // A handler cannot exceed the deadline that the policy sets.
        (Some(own_deadline), true) => own_deadline.min(limits.deadline),
        (None, _) => limits.deadline,
    };
    let started = Instant::now();
    let called = catch_unwind(async { with_own_commits(handler.call(context, args)).await });
    let host = &scope.turn.agent().host;
    let called = host.sandbox.threads().within(deadline, called).await;
    usage.wall = started.elapsed();
    let Some(called) = called else {
        return Err(failure(name, &SandboxError::Timeout { deadline }, locale));
    };
    match called.map_err(panicked)? {
        Ok(output) => {
            let bytes = json_bytes(&output);
            usage.output_bytes = bytes;
            match exceeded(&output, bytes, limits) {
                None => Ok(Answer::Output(output)),
                Some(error) => Err(failure(name, &error, locale)),
            }
        }
        Err(HandlerFailure {
            error,
            host_code: Some(code),
        }) => Err(ToolError::host(code, error.message, locale)),
        Err(HandlerFailure { error, .. }) => {
            let (bytes, limit) = (error.bytes(), limits.output_bytes);
            usage.output_bytes = bytes;
            Err(if bytes > limit {
                failure(name, &SandboxError::OutputTooLarge { bytes, limit }, locale)
            } else {
                let error = host.redactor.handler_error(error);
                normalised(error, valid.tool, locale)
            })
        }
    }
}

/// Returns how many bytes a value has as JSON, without its text: it may be as large as what a server sends.
fn json_bytes(value: &Value) -> u64 {
    struct Count(u64);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // Nothing that counts fails.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

fn exceeded(output: &Value, bytes: u64, limits: &Limits) -> Option<SandboxError> {
    let limit = limits.output_bytes;
    if bytes > limit {
        return Some(SandboxError::OutputTooLarge { bytes, limit });
    }
    let (depth, limit) = (json::depth(output), limits.json_depth);
    (depth > limit).then_some(SandboxError::OutputTooDeep { depth, limit })
}
