//! Answers a request: health, or MCP after every check.

use std::convert::Infallible;
use std::sync::Arc;

use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::{Bytes, Incoming};
use rmcp::model::RequestId;
use toolhost::ToolCatalogItem;

use super::access::{RequestInstance, check_operator, instance_key};
use super::authority::{host_is_allowed, origin_is_allowed, target_agrees};
use super::body::{
    BoxResponse, Refusal, full, json_refusal, name_type, read, refusal, response, retry_after,
};
use super::cors;
use super::message::Message;
use super::response_body::{CancelOnDrop, ResponseBody};
use super::sessions::Opening;
use super::state::HttpState;
use crate::handler::{InstanceKey, Subject};
use crate::incoming::Unreadable;
use crate::shared::ServedState;
use crate::shares::Share;

/// Whether the process runs.
pub(super) const HEALTH: &str = "/healthz";

/// Whether calls are served.
pub(super) const READINESS: &str = "/readyz";

/// Seconds after which a client is to try again.
pub(super) const RETRY_SECONDS: u16 = 1;

/// The page of metrics.
const METRICS: &str = "/metrics";

/// Header of a client that continues a stream.
const LAST_EVENT: &str = "last-event-id";

/// Answers a request. Never fails: what is wrong is the status of the response.
pub(super) async fn serve_request(
    state: Arc<HttpState>,
    request: Request<Incoming>,
) -> Result<BoxResponse, Infallible> {
    let path = request.uri().path();
    match path {
        HEALTH => return Ok(health(&request, Ok(()))),
        READINESS => {
            return Ok(health(&request, readiness(&state.server)));
        }
        _ => {}
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let checked = check_source(&state, &request);
    let mut response = match checked {
        Ok(()) => {
            let mut response = answer(&state, request).await.unwrap_or_else(|refusal| {
                count_refusal(&state, &refusal);
                *refusal
            });
            if let Some(origin) = origin {
                cors::expose(&mut response, origin);
            }
            response
        }
        Err(refusal) => {
            count_refusal(&state, &refusal);
            *refusal
        }
    };
    name_type(&mut response);
    Ok(response)
}

fn count_refusal(state: &HttpState, refusal: &Refusal) {
    let metrics = &state.server.metrics;
    metrics.count_refused(refusal.status().as_u16());
}

/// Checks the host that a request names, and the page that it comes from.
fn check_source(state: &HttpState, request: &Request<Incoming>) -> Result<(), Refusal> {
    let (config, headers) = (&state.config, request.headers());
    if !target_agrees(request.uri(), headers) {
        let text = "the target of the request and `Host` name different hosts";
        return Err(refusal(StatusCode::BAD_REQUEST, text));
    }
    if !host_is_allowed(headers, &config.allowed_hosts) {
        return Err(refusal(StatusCode::FORBIDDEN, "this Host is not served"));
    }
    if !origin_is_allowed(headers, &config.allowed_origins) {
        return Err(refusal(StatusCode::FORBIDDEN, "this Origin is not allowed"));
    }
    Ok(())
}

async fn answer(
    state: &Arc<HttpState>,
    request: Request<Incoming>,
) -> Result<BoxResponse, Refusal> {
    if let Some(response) = cors::preflight(&request) {
        return Ok(response);
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
    state: &Arc<HttpState>,
    request: Request<Incoming>,
    RequestInstance { key, is_of_token }: RequestInstance,
) -> Result<BoxResponse, Refusal> {
    let sessions = &state.sessions;
    if request.headers().contains_key(LAST_EVENT) {
        let text = "streams are not resumed; send the request again";
        return Err(refusal(StatusCode::BAD_REQUEST, text));
    }
    let session = sessions.begin_use(request.headers(), &key).await?;
    let (mut parts, body) = request.into_parts();
    let is_delete = parts.method == Method::DELETE;
    let (message, body, memory) = read_message(state, &parts.method, body, &key).await?;
    let opening = if message.opens_session {
        Some(sessions.begin_opening(&key).await?)
    } else {
        None
    };
    let is_endless = message.is_endless && !is_delete;
    let stream = if is_endless {
        Some(state.streams.begin(&key)?)
    } else {
        None
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
    if let Some(error) = message.arguments_error {
        parts.extensions.insert(error);
    }
    parts.extensions.insert(InstanceKey(Arc::clone(&key)));
    if is_of_token {
        parts.extensions.insert(Subject(Arc::clone(&key)));
    }
    // The handler needs no secrets.
    parts.headers.remove(header::AUTHORIZATION);
    let request = Request::from_parts(parts, full(body));
    let mut response = if of_session {
        answer_of_session(state, request, key, opening).await?
    } else {
        state.mcp.handle(request).await
    };
    if is_delete && response.status() == StatusCode::ACCEPTED {
        // The session has ended. Some clients take 202 for a failure.
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    if response.status().is_client_error() {
        let metrics = &state.server.metrics;
        metrics.count_refused(response.status().as_u16());
    }
    Ok(response.map(|body| {
        let body = ResponseBody {
            body,
            cancel,
            session,
            stream,
            memory: Some(memory),
            awaited,
        };
        body.boxed()
    }))
}

/// Reads the message of a request. Its memory is taken before it is read.
async fn read_message(
    state: &HttpState,
    method: &Method,
    body: Incoming,
    key: &str,
) -> Result<(Message, Bytes, Share), Refusal> {
    let (config, server) = (&state.config, &state.server);
    let take = |id: &Option<RequestId>, bytes: usize| {
        server.take_memory(key, bytes).map_err(|error| {
            let answer = Unreadable {
                id: id.clone(),
                error,
            };
            retry_after(json_refusal(StatusCode::SERVICE_UNAVAILABLE, answer), 1)
        })
    };
    let announced = body.size_hint().upper();
    let announced = announced.and_then(|bytes| usize::try_from(bytes).ok());
    let of_body = take(
        &None,
        announced.unwrap_or(usize::MAX).min(config.body_bytes),
    )?;
    let body = read(body, config.body_bytes, config.read_timeout).await?;
    let (message, body) = Message::read(method, body, &server.config)?;
    // What is taken now holds the body too.
    drop(of_body);
    let memory = take(&message.id, message.memory)?;
    Ok((message, body, memory))
}

/// Returns the response to a request of a session. Once begun, it is made also if the future is dropped: the
/// SDK would keep what it has half done until the session ends.
async fn answer_of_session(
    state: &Arc<HttpState>,
    request: Request<BoxBody<Bytes, Infallible>>,
    key: Arc<str>,
    opening: Option<Opening>,
) -> Result<BoxResponse, Refusal> {
    let state = Arc::clone(state);
    let answering = tokio::spawn(async move {
        let response = state.mcp.handle(request).await;
        if opening.is_some() && response.status().is_success() {
            state.server.metrics.count_session();
            state.sessions.add(response.headers(), &key).await;
        }
        response
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

/// Whether no call would wait for the compiler.
fn readiness(server: &ServedState) -> Result<(), Refusal> {
    if server.drain.is_cancelled() {
        return Err(stopping());
    }
    // Without its agent, calls are refused; none waits.
    let Ok(agent) = server.served.current_agent() else {
        return Ok(());
    };
    let catalog = agent.catalog();
    let tools = catalog.items().iter();
    let is_compiling = |item: &&ToolCatalogItem| agent.tool_is_compiling(item.name.as_str());
    match tools.filter(is_compiling).count() {
        0 => Ok(()),
        tools => {
            let text = format!("starting: tools whose component is being compiled: {tools}");
            let refusal = refusal(StatusCode::SERVICE_UNAVAILABLE, &text);
            Err(retry_after(refusal, RETRY_SECONDS))
        }
    }
}

/// Answers a request for health.
pub(super) fn health(request: &Request<Incoming>, is_well: Result<(), Refusal>) -> BoxResponse {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return response(StatusCode::METHOD_NOT_ALLOWED, "use GET");
    }
    match is_well {
        Ok(()) => response(StatusCode::OK, "ok"),
        Err(refusal) => *refusal,
    }
}

/// Answers a request for metrics.
async fn metrics(state: &HttpState, request: &Request<Incoming>) -> Result<BoxResponse, Refusal> {
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
