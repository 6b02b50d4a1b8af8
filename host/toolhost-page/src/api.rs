//! What the page asks its server: JSON, for a viewer. docs/watch.md is about the page; the API is its own, and may change
//! with it.

mod agents;
mod approvals;
mod calls;
mod recorded;

use std::time::SystemTime;

use http::{Method, StatusCode};
use hyper::body::Bytes;
use serde_json::{Value, json};
use toolhost::events::Timestamp;

use crate::failure::Failure;
use crate::page::PageInner;
use crate::query::Query;
use crate::root::shown;

/// What a request to the API has.
pub(crate) struct ApiRequest {
    pub(crate) method: Method,
    /// Who asks.
    pub(crate) viewer: String,
    pub(crate) query: Query,
    pub(crate) body: Bytes,
}

/// What the API answers.
pub(crate) enum Answer {
    Json(Value),
    /// The bytes of a recording.
    File(Bytes),
}

/// Answers a request to `api/…`.
pub(crate) async fn answer(
    page: &PageInner,
    path: &str,
    mut request: ApiRequest,
) -> Result<Answer, Failure> {
    let parts: Vec<&str> = path.split('/').collect();
    let is_post = request.method == Method::POST;
    let needs_post = matches!(parts[..], ["approvals", _] if is_post)
        || matches!(parts[..], ["calls", _, "replay"] | ["agents", _, "calls"]);
    if needs_post != is_post || !(is_post || request.method == Method::GET) {
        let message = format!("{} is not the method for this", request.method);
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, message));
    }
    let root: Option<usize> = request.query.take("root", "a number")?;
    let root = page.roots.get(root.unwrap_or_default());
    let at = || root.ok_or_else(|| Failure::not_found("there is no such state root"));
    let number = |id: &str| {
        id.parse::<u64>()
            .map_err(|_| Failure::invalid("the number of a call has digits alone"))
    };
    if is_post {
        // Nothing is done that was asked otherwise than it is understood.
        std::mem::take(&mut request.query).end()?;
    }
    let query = &mut request.query;
    let answer = match parts[..] {
        ["info"] => info(page, &request.viewer).await?,
        ["running"] => match &page.running {
            Some(running) => running.to_value(),
            None => json!({"calls": [], "gauges": null}),
        },
        ["calls"] => calls::list(at()?, query).await?,
        ["calls", id] => calls::show(page, at()?, number(id)?).await?,
        ["calls", id, "steps"] => recorded::steps(page, at()?, number(id)?, query).await?,
        ["calls", id, "replay"] => recorded::replay(page, at()?, number(id)?).await?,
        ["calls", id, "case"] => recorded::case(page, at()?, number(id)?).await?,
        ["calls", id, "recording"] => {
            let recorded = recorded::of_call(page, at()?, number(id)?).await?;
            request.query.end()?;
            return Ok(Answer::File(recorded.bytes));
        }
        ["stats"] => calls::stats(at()?, query).await?,
        ["approvals"] => approvals::list(at()?, query).await?,
        ["approvals", id] if is_post => {
            approvals::decide(at()?, id, &request.viewer, &request.body).await?
        }
        ["approvals", id, "brief"] => approvals::brief(at()?, id).await?,
        ["approvals", id] => approvals::get(at()?, id).await?,
        ["budgets"] => agents::budgets(page).await?,
        ["agents"] => agents::list(page),
        ["agents", name, "calls"] => agents::call(page, name, &request.body).await?,
        _ => return Err(Failure::not_found("there is no such request")),
    };
    request.query.end()?;
    Ok(Answer::Json(answer))
}

async fn info(page: &PageInner, viewer: &str) -> Result<Value, Failure> {
    let mut roots = Vec::new();
    for (id, root) in page.roots.iter().enumerate() {
        // A state root that cannot be read hides no other one.
        let waiting = match root.approvals().await {
            Ok(Some(approvals)) => approvals.waiting_count().await.map_err(Failure::from),
            Ok(None) => Ok(0),
            Err(failure) => Err(failure),
        };
        let (waiting, error) = match waiting {
            Ok(waiting) => (waiting, None),
            Err(failure) => (0, Some(failure.message)),
        };
        let path = root.path.as_deref().map(shown);
        roots.push(json!({"id": id, "path": path, "waiting": waiting, "error": error}));
    }
    let bundle = page.bundle.as_ref().map(|bundle| bundle.current());
    let agents = bundle
        .as_ref()
        .map(|bundle| bundle.agents())
        .unwrap_or_default();
    let agents: Vec<&str> = agents.iter().map(|agent| agent.name()).collect();
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "viewer": viewer,
        "now": Timestamp(SystemTime::now()),
        "roots": roots,
        "agents": agents,
        "canReplay": bundle.is_some(),
        "running": page.running.is_some(),
    }))
}
