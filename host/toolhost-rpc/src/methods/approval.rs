//! The methods of who approves calls that wait.

use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::approvals::{Approval, ApprovalError};
use toolhost::{Locale, ToolError, ToolErrorCode};

use crate::error::{RpcError, RpcErrorCode};
use crate::session::Session;

/// `{"token", "all"?}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    token: String,
    #[serde(default)]
    all: bool,
}

/// `{"token", "id"}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetParams {
    token: String,
    id: String,
}

/// `{"token", "id", "why"?}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecideParams {
    token: String,
    id: String,
    why: Option<String>,
}

/// Lists what waits; with `all`, also what was decided.
pub(super) async fn list(session: &Session, params: ListParams) -> Result<Value, RpcError> {
    approver(session, &params.token)?;
    let approvals = session.config.host.approvals();
    let listed = if params.all {
        approvals.all().await
    } else {
        approvals.waiting().await
    };
    let waiting = approvals.waiting_count().await.map_err(refused)?;
    Ok(json!({ "approvals": listed.map_err(refused)?, "waiting": waiting }))
}

/// Returns one approval.
pub(super) async fn get(session: &Session, params: GetParams) -> Result<Value, RpcError> {
    approver(session, &params.token)?;
    let approval = session.config.host.approvals().get(&params.id).await;
    answer(approval)
}

/// Lets a call do what it waits for.
pub(super) async fn approve(session: &Session, params: DecideParams) -> Result<Value, RpcError> {
    let by = approver(session, &params.token)?;
    let approvals = session.config.host.approvals();
    answer(
        approvals
            .approve(&params.id, by, params.why.as_deref())
            .await,
    )
}

/// Refuses what a call waits for.
pub(super) async fn deny(session: &Session, params: DecideParams) -> Result<Value, RpcError> {
    let by = approver(session, &params.token)?;
    let approvals = session.config.host.approvals();
    answer(approvals.deny(&params.id, by, params.why.as_deref()).await)
}

/// Returns the name of who has a token.
fn approver<'s>(session: &'s Session, token: &str) -> Result<&'s str, RpcError> {
    let approvers = &session.config.approvers;
    approvers.who(token).ok_or_else(|| {
        let error = RpcError::new(
            RpcErrorCode::Forbidden,
            "the token is not one of an approver",
        );
        error.suggesting("Send a token of the file that the server got with --approvers.")
    })
}

fn answer(approval: Result<Approval, ApprovalError>) -> Result<Value, RpcError> {
    let approval = approval.map_err(refused)?;
    Ok(json!({ "approval": approval }))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is left says that this decision does not count"
)]
fn refused(error: ApprovalError) -> RpcError {
    match error {
        ApprovalError::Unknown { .. } => RpcError::new(RpcErrorCode::NotFound, error.to_string())
            .suggesting("Use an id that approvals/list returns."),
        ApprovalError::Host(error) => RpcError::from(*error),
        ApprovalError::Store(_) | ApprovalError::Staging(_) => {
            let reasons: &(dyn std::error::Error + 'static) = &error;
            tracing::error!(error = reasons, "approvals cannot be used");
            let message = "The approvals cannot be used: the log of the host says why.";
            let error = ToolError::host(ToolErrorCode::Host, message, Locale::default());
            RpcError::from(error)
        }
        error => RpcError::new(RpcErrorCode::Decided, error.to_string()),
    }
}
