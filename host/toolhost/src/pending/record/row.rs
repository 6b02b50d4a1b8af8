//! Reads and writes rows of the table `pending`.

use serde_json::Value;
use toolhost_contract::{AssistantMessage, JsonObject, ToolCall, ToolResult};
use toolhost_store::rusqlite::types::Type;
use toolhost_store::rusqlite::{self, OptionalExtension, Row, Transaction, named_params};

use super::{Handle, Owner, PendingCall, Record, Source, State};

/// A column with an invalid value.
#[derive(Debug, thiserror::Error)]
#[error("the column '{column}' of a pending record cannot be read")]
struct Unreadable {
    column: &'static str,
}

/// Inserts an open record.
pub(super) fn insert(tx: &Transaction<'_>, record: &Record) -> rusqlite::Result<()> {
    let (guest_handle, run_id) = match &record.source {
        Source::Guest { guest_handle } => (Some(guest_handle), None),
        Source::Background { run_id } => (None, Some(run_id)),
    };
    let (state, result) = match &record.state {
        State::Running => ("running", None),
        State::Waiting => ("waiting", None),
        State::Done(result) => ("done", Some(result.to_stored().to_string())),
        State::Cancelled => ("cancelled", None),
    };
    tx.prepare_cached(
        "INSERT INTO pending (handle, bundle, agent, instance_key, call_id, tool_name, turn_id,
             trace_id, message, guest_handle, run_id, state, result, created_ms, expires_ms)
         VALUES (:handle, :bundle, :agent, :instance_key, :call_id, :tool_name, :turn_id,
             :trace_id, :message, :guest_handle, :run_id, :state, :result, :created_ms, :expires_ms)",
    )?
    .execute(named_params! {
        ":handle": record.handle,
        ":bundle": record.owner.bundle,
        ":agent": record.owner.agent,
        ":instance_key": record.owner.instance_key,
        ":call_id": record.call.call_id,
        ":tool_name": record.call.tool_name,
        ":turn_id": record.call.turn_id,
        ":trace_id": record.call.trace_id,
        ":message": record.call.message.as_json(),
        ":guest_handle": guest_handle,
        ":run_id": run_id,
        ":state": state,
        ":result": result,
        ":created_ms": record.created_ms,
        ":expires_ms": record.expires_ms,
    })?;
    Ok(())
}

/// Finds a record of an owner that has not expired.
pub(super) fn find(
    tx: &Transaction<'_>,
    handle: &Handle,
    owner: &Owner,
    now_ms: i64,
) -> rusqlite::Result<Option<Record>> {
    tx.prepare_cached(
        "SELECT * FROM pending
         WHERE handle = :handle AND bundle = :bundle AND agent = :agent
             AND instance_key = :instance_key AND expires_ms > :now",
    )?
    .query_row(
        named_params! {
            ":handle": handle,
            ":bundle": owner.bundle,
            ":agent": owner.agent,
            ":instance_key": owner.instance_key,
            ":now": now_ms,
        },
        read,
    )
    .optional()
}

/// Returns up to `most` running records of a run.
pub(super) fn running(
    tx: &Transaction<'_>,
    run_id: &str,
    most: u32,
) -> rusqlite::Result<Vec<Record>> {
    let mut query = tx.prepare_cached(
        "SELECT * FROM pending WHERE run_id = :run_id AND state = 'running' LIMIT :most",
    )?;
    let records = query.query_map(named_params! {":run_id": run_id, ":most": most}, read)?;
    records.collect()
}

/// Ends a record with the JSON of a result and removes its message. Returns false if it was not open.
pub(super) fn end(tx: &Transaction<'_>, handle: &Handle, result: &str) -> rusqlite::Result<bool> {
    let ended = tx
        .prepare_cached(
            "UPDATE pending SET state = 'done', result = :result, message = ''
             WHERE handle = :handle AND state IN ('running', 'waiting')",
        )?
        .execute(named_params! {":handle": handle, ":result": result})?;
    Ok(ended == 1)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Record> {
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
        json.and_then(|json| AssistantMessage::parse(json, &call_id).ok())
    };
    let source = match (row.get("guest_handle")?, row.get("run_id")?) {
        (Some(guest_handle), None) => Source::Guest { guest_handle },
        (None, Some(run_id)) => Source::Background { run_id },
        _ => return Err(unreadable(row, "run_id")),
    };
    Ok(Record {
        handle: Handle::parse(&handle).ok_or_else(|| unreadable(row, "handle"))?,
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
            message: message.ok_or_else(|| unreadable(row, "message"))?,
        },
        source,
        state,
        created_ms: row.get("created_ms")?,
        expires_ms: row.get("expires_ms")?,
    })
}

fn state(row: &Row<'_>) -> rusqlite::Result<State> {
    let state: String = row.get("state")?;
    match state.as_str() {
        "running" => Ok(State::Running),
        "waiting" => Ok(State::Waiting),
        "cancelled" => Ok(State::Cancelled),
        "done" => {
            let text: String = row.get("result")?;
            let json: Option<Value> = serde_json::from_str(&text).ok();
            let result = json.as_ref().and_then(ToolResult::from_stored);
            let result = result.ok_or_else(|| unreadable(row, "result"))?;
            Ok(State::Done(Box::new(result)))
        }
        _ => Err(unreadable(row, "state")),
    }
}

fn unreadable(row: &Row<'_>, column: &'static str) -> rusqlite::Error {
    let index = row.as_ref().column_index(column).unwrap_or_default();
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(Unreadable { column }))
}
