//! Pending calls as tasks of the extension `io.modelcontextprotocol/tasks`.
//!
//! The id of a task is the handle of the pending call and the time when the task was created, so that the
//! server keeps nothing in memory. A handle is valid only for the instance that made the call.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::RoleServer;
use rmcp::model::{DetailedTask, ErrorData, GetTaskResult, Task, TaskPayload, TaskStatus};
use rmcp::service::RequestContext;
use serde_json::Value;
use toolhost::{ErrorCode, Instance, ToolErrorCode, ToolResult, pending::PollReply};

use super::answer::{answer_of, revision};
use crate::shared::{Admitted, ServedState};

/// Time between two polls that a client should wait, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1000;

/// The end of the year 9999, after which there is no text of a time. In milliseconds since 1970.
const TIME_END_MS: u64 = 253_402_300_800_000;

/// Separates the handle and the time.
const SEPARATOR: char = '@';

/// Returns the task of a call that has just become pending.
pub(super) fn created(handle: &str) -> Task {
    let now = SystemTime::now();
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let id = format!("{handle}{SEPARATOR}{}", since_epoch.as_millis());
    task(&id, TaskStatus::Working, now)
}

/// Answers `tasks/get`.
pub(super) async fn get(
    shared: &ServedState,
    instance: &Instance,
    id: &str,
    context: &RequestContext<RoleServer>,
    admitted: Admitted,
) -> Result<GetTaskResult, ErrorData> {
    let (handle, created) = parts(id)?;
    let reply = poll_reply(instance, handle, admitted).await?;
    let result = reply.result;
    shared.metrics.count_poll(&result);
    exists(&result)?;
    let payload = if !reply.has_ended {
        TaskPayload::Working
    } else if is_cancelled(&result) {
        TaskPayload::Cancelled
    } else {
        let answer = answer_of(shared, instance, &result, None, revision(context)).await;
        match serde_json::to_value(answer) {
            Ok(Value::Object(result)) => TaskPayload::Completed { result },
            Ok(_) | Err(_) => {
                return Err(ErrorData::internal_error(
                    "the result is not an object",
                    None,
                ));
            }
        }
    };
    let task = task(id, TaskStatus::Working, created);
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// Polls the result of a pending call. A poll that has begun runs to its end, within the limits, also if the
/// future is dropped.
pub(super) async fn poll_reply(
    instance: &Instance,
    handle: &str,
    admitted: Admitted,
) -> Result<PollReply, ErrorData> {
    let (instance, handle) = (instance.clone(), handle.to_owned());
    let polled = tokio::spawn(async move {
        let _admitted = admitted;
        instance.poll_reply(&handle).await
    });
    let failed = |_| ErrorData::internal_error("the result could not be polled", None);
    polled.await.map_err(failed)
}

/// Answers `tasks/cancel`.
pub(super) async fn cancel(instance: &Instance, id: &str) -> Result<(), ErrorData> {
    let (handle, _) = parts(id)?;
    exists(&instance.cancel(handle).await)
}

fn task(id: &str, status: TaskStatus, created: SystemTime) -> Task {
    let time = |time| humantime::format_rfc3339_millis(time).to_string();
    Task::new(id, status, time(created), time(SystemTime::now()))
        .with_poll_interval_ms(POLL_INTERVAL_MS)
}

fn parts(id: &str) -> Result<(&str, SystemTime), ErrorData> {
    let parts = id.rsplit_once(SEPARATOR).and_then(|(handle, millis)| {
        let millis = millis.parse().ok().filter(|millis| *millis < TIME_END_MS)?;
        Some((handle, UNIX_EPOCH + Duration::from_millis(millis)))
    });
    parts.ok_or_else(unknown)
}

fn code(result: &ToolResult) -> Option<ToolErrorCode> {
    match result.tool_error()?.code {
        ErrorCode::Host(code) => Some(code),
        ErrorCode::Handler(_) => None,
    }
}

fn exists(result: &ToolResult) -> Result<(), ErrorData> {
    match code(result) {
        Some(ToolErrorCode::UnknownHandle) => Err(unknown()),
        _ => Ok(()),
    }
}

fn is_cancelled(result: &ToolResult) -> bool {
    code(result) == Some(ToolErrorCode::Cancelled)
}

fn unknown() -> ErrorData {
    ErrorData::invalid_params("the task does not exist or has expired", None)
}
