//! Answers a request: health, or MCP after every check.

use std::convert::Infallible;
use std::sync::Arc;

use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::{Bytes, Incoming};

use super::access::{RequestInstance, check_operator, instance_key};
use super::authority::{host_is_allowed, origin_is_allowed};
use super::body::{BoxResponse, Refusal, full, read, refusal, response};
use super::cors;
use super::message::Message;
use super::response_body::{CancelOnDrop, ResponseBody};
use super::sessions::Opening;
use super::state::State;
use crate::handler::{InstanceKey, Subject};

/// The page of metrics.
const METRICS: &str = "/metrics";

/// Header of a client that continues a stream.
const LAST_EVENT: &str = "last-event-id";

/// Answers a request. Never fails: what is wrong is the status of the response.
pub(super) async fn serve_request(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<BoxResponse, Infallible> {
    let path = request.uri().path();
    match path {
        "/healthz" => return Ok(health(&request, true)),
        "/readyz" => return Ok(health(&request, !state.server.drain.is_cancelled())),
        _ => {}
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let checked = check_source(&state, &request);
    let answered = match checked {
        Ok(()) => {
            let mut answered = answer(&state, request).await.unwrap_or_else(|refused| {
                count_refusal(&state, &refused);
                *refused
            });
            if let Some(origin) = origin {
                cors::expose(&mut answered, origin);
            }
            answered
        }
        Err(refused) => {
            count_refusal(&state, &refused);
            *refused
        }
    };
    Ok(answered)
}

fn count_refusal(state: &State, refused: &Refusal) {
    let metrics = &state.server.metrics;
    metrics.count_refused(refused.status().as_u16());
}

/// Checks the host that a request names, and the page that it comes from.
fn check_source(state: &State, request: &Request<Incoming>) -> Result<(), Refusal> {
    let (config, headers) = (&state.config, request.headers());
    if !host_is_allowed(headers, &config.allowed_hosts) {
        return Err(refusal(StatusCode::FORBIDDEN, "this Host is not served"));
    }
    if !origin_is_allowed(headers, &config.allowed_origins) {
        return Err(refusal(StatusCode::FORBIDDEN, "this Origin is not allowed"));
    }
    Ok(())
}

async fn answer(state: &Arc<State>, request: Request<Incoming>) -> Result<BoxResponse, Refusal> {
    if let Some(answered) = cors::preflight(&request) {
        return Ok(answered);
    }
    let path = request.uri().path();
    if let Some(oauth) = &state.oauth
        && let Some(document) = oauth.metadata(path)
    {
        return Ok(document);
    }
    if path == METRICS {
        return metrics(state, &request).await;
    }
    let instance = instance_key(state, &request).await?;
    if state.server.drain.is_cancelled() {
        return Err(stopping());
    }
    answer_mcp(state, request, instance).await
}

async fn answer_mcp(
    state: &Arc<State>,
    request: Request<Incoming>,
    RequestInstance { key, is_of_token }: RequestInstance,
) -> Result<BoxResponse, Refusal> {
    let (config, sessions) = (&state.config, &state.sessions);
    if request.headers().contains_key(LAST_EVENT) {
        let text = "streams are not resumed; send the request again";
        return Err(refusal(StatusCode::BAD_REQUEST, text));
    }
    let session = sessions.begin_use(request.headers(), &key).await?;
    let (mut parts, body) = request.into_parts();
    let is_delete = parts.method == Method::DELETE;
    let body = read(body, config.body_bytes, config.read_timeout).await?;
    let message = Message::of(&parts.method, &body)?;
    let opening = match message.opens_session() {
        true => Some(sessions.begin_opening(&key).await?),
        false => None,
    };
    let is_endless = message.is_endless() && !is_delete;
    let stream = match is_endless {
        true => Some(state.streams.begin(&key)?),
        false => None,
    };
    let of_session = opening.is_some() || session.is_some();
    let (cancel, session) = match (session, &message.id) {
        (Some(session), Some(id)) => {
            let request = session.begin_request(id.clone())?;
            (Some(CancelOnDrop::new(request)), None)
        }
        (session, _) => (None, session),
    };
    // Before the check, so that draining waits for every response that passes it.
    let awaited = (!is_endless).then(|| state.responses.token());
    if state.server.drain.is_cancelled() {
        return Err(stopping());
    }
    drop(message);
    parts.extensions.insert(InstanceKey(Arc::clone(&key)));
    if is_of_token {
        parts.extensions.insert(Subject(Arc::clone(&key)));
    }
    // The handler needs no secrets.
    parts.headers.remove(header::AUTHORIZATION);
    let request = Request::from_parts(parts, full(body));
    let mut answered = match of_session {
        true => answer_of_session(state, request, key, opening).await?,
        // Dropped, it cancels the request.
        false => state.mcp.handle(request).await,
    };
    if is_delete && answered.status() == StatusCode::ACCEPTED {
        // The session has ended. Some clients take 202 for a failure.
        *answered.status_mut() = StatusCode::NO_CONTENT;
    }
    if answered.status().is_client_error() {
        let metrics = &state.server.metrics;
        metrics.count_refused(answered.status().as_u16());
    }
    Ok(answered.map(|body| {
        let body = ResponseBody {
            body,
            cancel,
            session,
            stream,
            awaited,
        };
        body.boxed()
    }))
}

/// Returns the response to a request of a session. Once begun, it is made also if the future is dropped: the
/// SDK would keep what it has half done until the session ends.
async fn answer_of_session(
    state: &Arc<State>,
    request: Request<BoxBody<Bytes, Infallible>>,
    key: Arc<str>,
    opening: Option<Opening>,
) -> Result<BoxResponse, Refusal> {
    let state = Arc::clone(state);
    let answering = tokio::spawn(async move {
        let answered = state.mcp.handle(request).await;
        if opening.is_some() && answered.status().is_success() {
            state.server.metrics.count_session();
            state.sessions.add(answered.headers(), &key).await;
        }
        answered
    });
    let failed = |_| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        refusal(status, "the request could not be answered")
    };
    answering.await.map_err(failed)
}

fn stopping() -> Refusal {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    refusal(status, "the server is stopping")
}

fn health(request: &Request<Incoming>, is_well: bool) -> BoxResponse {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return response(StatusCode::METHOD_NOT_ALLOWED, "use GET");
    }
    match is_well {
        true => response(StatusCode::OK, "ok"),
        false => *stopping(),
    }
}

/// Answers a request for metrics.
async fn metrics(state: &State, request: &Request<Incoming>) -> Result<BoxResponse, Refusal> {
    check_operator(state, request.headers())?;
    if request.method() != Method::GET {
        return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "use GET"));
    }
    let (server, sessions) = (&state.server, state.sessions.count().await);
    let text = server.metrics.text(server.in_flight(), sessions);
    let mut response = response(StatusCode::OK, text.trim_end());
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
