//! The methods `undo/list` and `undo/run`.

use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::events::Timestamp;
use toolhost::workdir::{Shortage, UndoError};
use toolhost::{Locale, ToolError, ToolErrorCode};

use crate::error::{RpcError, RpcErrorCode};
use crate::instances::InstanceParams;
use crate::session::Session;

/// `{"instance"?}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    instance: Option<InstanceParams>,
}

/// `{"id"?, "instance"?}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunParams {
    id: Option<String>,
    instance: Option<InstanceParams>,
}

/// Lists the calls in the workdir of an instance that can be undone, the newest first: the JSON of
/// `toolhost undo --list`.
pub(super) async fn list(session: &Session, params: ListParams) -> Result<Value, RpcError> {
    let instance = params.instance.unwrap_or_default();
    let instance = instance.open(&session.bundles, &session.config)?;
    let records = instance.undo_records().await.map_err(undo_error)?;
    let calls = records.into_iter().map(|record| {
        json!({
            "id": record.id,
            "call": record.label,
            "committed": Timestamp(record.committed),
            "files": record.files,
            "bytes": record.bytes,
        })
    });
    Ok(json!({ "calls": calls.collect::<Vec<_>>() }))
}

/// Undoes the newest call in the workdir of an instance, or the one with this id: the JSON of
/// `toolhost undo`.
pub(super) async fn run(session: &Session, params: RunParams) -> Result<Value, RpcError> {
    let instance = params.instance.unwrap_or_default();
    let instance = instance.open(&session.bundles, &session.config)?;
    let undone = instance
        .undo(params.id.as_deref())
        .await
        .map_err(undo_error)?;
    let undone = json!({"id": undone.id, "call": undone.label, "files": undone.files});
    Ok(json!({ "undone": undone }))
}

fn undo_error(error: UndoError) -> RpcError {
    let failed =
        |code, message: String| RpcError::from(ToolError::host(code, message, Locale::default()));
    let reasons: &(dyn std::error::Error + 'static) = &error;
    match &error {
        UndoError::Nothing => RpcError::new(RpcErrorCode::NotFound, error.to_string())
            .suggesting("Use an id that undo/list returns for the same instance."),
        UndoError::Conflict { .. } => failed(ToolErrorCode::WorkdirConflict, error.to_string())
            .suggesting("Restore what the call left in these files, or change them by hand."),
        UndoError::Busy { .. } => failed(ToolErrorCode::Busy, error.to_string()),
        UndoError::Short { shortage, .. } => {
            let code = match shortage {
                Shortage::Disk => ToolErrorCode::DiskLimit,
                Shortage::Descriptors => ToolErrorCode::Busy,
            };
            failed(code, error.to_string())
        }
        UndoError::HalfDone { .. } => {
            tracing::error!(error = reasons, "a call was undone in part");
            let message = "The call was undone in part: the log of the host names the files.";
            failed(ToolErrorCode::Host, message.to_owned())
        }
        // With paths of the operator's.
        UndoError::BadRecord { .. } | UndoError::Failed { .. } => {
            tracing::error!(error = reasons, "a call was not undone");
            let message = "The call could not be undone: the log of the host says why.";
            failed(ToolErrorCode::Host, message.to_owned())
        }
    }
}
