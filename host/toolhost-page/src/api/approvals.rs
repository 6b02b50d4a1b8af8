//! Calls that wait for approval.

use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::approvals::Approvals;

use super::calls;
use crate::failure::Failure;
use crate::query::Query;
use crate::root::Root;

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
    let Some(approvals) = root.approvals().await? else {
        return Ok(json!({"approvals": [], "waiting": 0}));
    };
    let listed = match all {
        Some(true) => approvals.all().await?,
        _ => approvals.waiting().await?,
    };
    let waiting = approvals.waiting_count().await?;
    Ok(json!({"approvals": listed, "waiting": waiting}))
}

/// Returns an approval, and the number of the call that waits for it, if that is kept.
pub(super) async fn get(root: &Root, id: &str) -> Result<Value, Failure> {
    let approval = of(root).await?.get(id).await?;
    let call = match root.calls().await? {
        None => None,
        Some(log) => {
            let (id, instance) = (&approval.call_id, &approval.instance);
            calls::call_of(log, id, instance, &approval.handle).await?
        }
    };
    let mut value = json!(approval);
    if let (Value::Object(value), Some(call)) = (&mut value, call) {
        value.insert("call".to_owned(), json!(call.id));
    }
    Ok(value)
}

/// Returns an approval without what it is about: a view of it asks for it again and again.
pub(super) async fn brief(root: &Root, id: &str) -> Result<Value, Failure> {
    Ok(json!(of(root).await?.brief(id).await?))
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
