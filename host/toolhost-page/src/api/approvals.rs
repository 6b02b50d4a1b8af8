//! Calls that wait for approval.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::approvals::Approvals;

use crate::failure::Failure;
use crate::query::Query;
use crate::root::Root;

/// Longest reason, in bytes.
const WHY_BYTES_MAX: usize = 4096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionBody {
    decision: Verdict,
    why: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Approve,
    Deny,
}

pub(super) async fn list(root: &Root, query: &mut Query) -> Result<Value, Failure> {
    let all: Option<bool> = query.take("all", "true or false")?;
    let approvals = match root.approvals().await? {
        None => Vec::new(),
        Some(approvals) if all == Some(true) => approvals.all().await?,
        Some(approvals) => approvals.waiting().await?,
    };
    Ok(json!({ "approvals": approvals }))
}

pub(super) async fn get(root: &Root, id: &str) -> Result<Value, Failure> {
    Ok(json!(of(root).await?.get(id).await?))
}

/// Stores what the viewer decides.
pub(super) async fn decide(
    root: &Root,
    id: &str,
    viewer: &str,
    body: &[u8],
) -> Result<Value, Failure> {
    let body: DecisionBody = serde_json::from_slice(body)
        .map_err(|error| Failure::invalid(format!("the decision cannot be read: {error}")))?;
    let why = body.why.as_deref().filter(|why| !why.is_empty());
    if why.is_some_and(|why| why.len() > WHY_BYTES_MAX) {
        let message = format!("the reason has more than {WHY_BYTES_MAX} bytes");
        return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    let approvals = of(root).await?;
    let approval = match body.decision {
        Verdict::Approve => approvals.approve(id, viewer, why).await?,
        Verdict::Deny => approvals.deny(id, viewer, why).await?,
    };
    Ok(json!(approval))
}

async fn of(root: &Root) -> Result<&Approvals, Failure> {
    let approvals = root.approvals().await?;
    approvals.ok_or_else(|| Failure::not_found("no call of this state root waited for approval"))
}
