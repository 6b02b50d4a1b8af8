//! Reads and writes rows of the table `pending`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde_json::Value;
use toolhost_contract::{
    AssistantMessage, JsonObject, Locale, ToolCall, ToolError, ToolErrorCode, ToolResult,
    json_depth,
};
use toolhost_store::sql::{self, Row, Transaction, named_params};

use super::{CallWorkdir, Handle, NewRecord, Owner, PendingCall, Record, State};

/// Deepest nesting that `serde_json` can parse.
pub(super) const JSON_DEPTH_MAX: usize = 127;

/// A column with an invalid value.
#[derive(Debug, thiserror::Error)]
#[error("the column '{column}' of a pending record cannot be read")]
struct Unreadable {
    column: &'static str,
}

/// Inserts an open record. The process of `run_id`, if there is one, runs the call.
pub(super) fn insert(
    tx: &Transaction<'_>,
    handle: &Handle,
    new: &NewRecord,
    (state, run_id): (&str, Option<&str>),
    (now_ms, expires_ms): (i64, i64),
) -> sql::Result<()> {
    let workdir = new.call.workdir.as_ref();
    tx.execute(
        "INSERT INTO pending (handle, bundle, agent, instance_key, call_id, tool_name, turn_id,
             trace_id, message, workdir, workdir_inode, guest_handle, run_id, state, created_ms,
             expires_ms, subject)
         VALUES (:handle, :bundle, :agent, :instance_key, :call_id, :tool_name, :turn_id,
             :trace_id, :message, :workdir, :workdir_inode, :guest_handle, :run_id, :state,
             :created_ms, :expires_ms, :subject)",
        named_params! {
            ":handle": handle,
            ":bundle": new.owner.bundle,
            ":agent": new.owner.agent,
            ":instance_key": new.owner.instance_key,
            ":call_id": new.call.call_id,
            ":tool_name": new.call.tool_name,
            ":turn_id": new.call.turn_id,
            ":trace_id": new.call.trace_id,
            ":message": new.call.message.as_json(),
            ":workdir": workdir.map(|workdir| workdir.path.as_os_str().as_bytes()),
            ":workdir_inode": workdir.map(|workdir| workdir.inode.cast_signed()),
            ":guest_handle": new.guest_handle,
            ":run_id": run_id,
            ":state": state,
            ":created_ms": now_ms,
            ":expires_ms": expires_ms,
            ":subject": new.call.subject,
        },
    )?;
    Ok(())
}

/// Finds a record of an owner that has not expired.
pub(super) fn find(
    tx: &Transaction<'_>,
    handle: &Handle,
    owner: &Owner,
    now_ms: i64,
) -> sql::Result<Option<Record>> {
    tx.query_optional("SELECT * FROM pending
         WHERE handle = ?1 AND bundle = ?2 AND agent = ?3 AND instance_key = ?4 AND expires_ms > ?5", 
        (handle, &owner.bundle, &owner.agent, &owner.instance_key, now_ms),
        read,
    )
}

/// Returns up to `most` records that end with a run.
pub(super) fn running(tx: &Transaction<'_>, run_id: &str, most: u32) -> sql::Result<Vec<Record>> {
    let sql = "SELECT * FROM pending WHERE run_id = ?1 AND state IN ('running', 'held') LIMIT ?2";
    tx.query_map(sql, (run_id, most), read)
}

/// Ends a record that belongs to this run or to none with the JSON of a result, and removes its message. Returns false if it
/// was not open, or is another run's.
pub(super) fn end(
    tx: &Transaction<'_>,
    handle: &Handle,
    result: &str,
    run_id: &str,
) -> sql::Result<bool> {
    let rows = tx.execute(
        "UPDATE pending SET state = 'done', result = ?2, message = ''
             WHERE handle = ?1 AND state IN ('running', 'waiting', 'held')
                 AND (run_id IS NULL OR run_id = ?3)",
        (handle, result, run_id),
    )?;
    Ok(rows == 1)
}

/// Returns the JSON text of a result for [`end`]. A result that is nested too deep to be parsed is
/// replaced by an error.
pub(super) fn storable(result: &ToolResult, locale: Locale) -> String {
    let text = result.to_stored().to_string();
    if json_depth(&text) <= JSON_DEPTH_MAX {
        return text;
    }
    let (call_id, tool_name) = (result.tool_call_id(), result.tool_name());
    let message = format!("Tool '{tool_name}' failed: its result is nested too deep to be stored.");
    let error = ToolError::host(ToolErrorCode::InvalidOutput, message, locale);
    let result = ToolResult::error(call_id, tool_name, error).with_usage(result.usage().clone());
    result.to_stored().to_string()
}

fn read(row: &Row<'_>) -> sql::Result<Record> {
    let call_id: String = row.get("call_id")?;
    let handle: String = row.get("handle")?;
    let tool_name: String = row.get("tool_name")?;
    let state = state(row)?;
    let message: String = row.get("message")?;
    let message = if message.is_empty() && !state.is_open() {
        let call = ToolCall::new(&call_id, &tool_name, JsonObject::new());
        Some(AssistantMessage::for_call(&call))
    } else {
        let json = serde_json::from_str(&message).ok();
        let message = json.and_then(|json| AssistantMessage::parse(json).ok());
        message.and_then(|message| message.with_call(&call_id).ok())
    };
    Ok(Record {
        handle: Handle::parse(&handle).ok_or_else(|| unreadable("handle"))?,
        owner: Owner {
            bundle: row.get("bundle")?,
            agent: row.get("agent")?,
            instance_key: row.get("instance_key")?,
        },
        call: PendingCall {
            call_id,
            tool_name,
            turn_id: row.get("turn_id")?,
            trace_id: row.get("trace_id")?,
            message: message.ok_or_else(|| unreadable("message"))?,
            workdir: workdir(row)?,
            subject: row.get("subject")?,
        },
        state,
    })
}

pub(super) fn workdir(row: &Row<'_>) -> sql::Result<Option<CallWorkdir>> {
    let path: Option<Vec<u8>> = row.get("workdir")?;
    let inode: Option<i64> = row.get("workdir_inode")?;
    let workdir = path.zip(inode).map(|(path, inode)| CallWorkdir {
        path: OsString::from_vec(path).into(),
        inode: inode.cast_unsigned(),
    });
    Ok(workdir)
}

fn state(row: &Row<'_>) -> sql::Result<State> {
    let state: String = row.get("state")?;
    match state.as_str() {
        "running" => Ok(State::Running {
            run_id: row.get("run_id")?,
        }),
        "waiting" => Ok(State::Waiting {
            guest_handle: row.get("guest_handle")?,
        }),
        "held" => Ok(State::Held {
            guest_handle: row.get("guest_handle")?,
            inner_of: row.get("run_id")?,
        }),
        "cancelled" => Ok(State::Cancelled),
        "done" => {
            let text: String = row.get("result")?;
            let json: Option<Value> = serde_json::from_str(&text).ok();
            let result = json.as_ref().and_then(ToolResult::from_stored);
            let result = result.ok_or_else(|| unreadable("result"))?;
            Ok(State::Done(Box::new(result)))
        }
        _ => Err(unreadable("state")),
    }
}

pub(super) fn unreadable(column: &'static str) -> sql::Error {
    sql::Error::unreadable(column, Unreadable { column })
}
