//! Answers a request: health, or MCP after every check.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use http::{HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming;

use super::authority::{host_is_allowed, origin_is_allowed};
use super::body::{BoxResponse, Refusal, full, read, refusal, response};
use super::session_call::CancelOnDrop;
use super::state::State;
use super::token;
use crate::handler::InstanceKey;

/// The endpoint of MCP.
const ENDPOINT: &str = "/mcp";

/// The page of metrics.
const METRICS: &str = "/metrics";

/// Header of a session.
const SESSION: &str = "mcp-session-id";

/// Longest key of an instance, in bytes.
const KEY_BYTES_MAX: usize = 256;

/// Answers a request. Never fails: what is wrong is the status of the response.
pub(super) async fn serve_request(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<BoxResponse, Infallible> {
    let answered = answer(&state, request).await;
    Ok(answered.unwrap_or_else(|refusal| {
        let metrics = &state.server.metrics;
        metrics.count_refused(refusal.status().as_u16());
        *refusal
    }))
}

async fn answer(state: &State, request: Request<Incoming>) -> Result<BoxResponse, Refusal> {
    let path = request.uri().path();
    match path {
        "/healthz" => return health(&request, true),
        "/readyz" => return health(&request, !state.server.drain.is_cancelled()),
        _ => {}
    }
    let config = &state.config;
    if !host_is_allowed(request.headers(), &config.allowed_hosts) {
        return Err(refusal(StatusCode::FORBIDDEN, "this Host is not served"));
    }
    if !origin_is_allowed(request.headers(), &config.allowed_origins) {
        return Err(refusal(StatusCode::FORBIDDEN, "this Origin is not allowed"));
    }
    if path == METRICS {
        return metrics(state, &request).await;
    }
    let key = instance_key(state, &request)?;
    if state.server.drain.is_cancelled() {
        return Err(refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "the server is stopping",
        ));
    }
    let session = match request.headers().get(SESSION) {
        Some(session) => Some(check_session(state, session, &key).await?),
        None => None,
    };
    let (mut parts, body) = request.into_parts();
    let body = read(body, config.body_bytes, config.read_timeout).await?;
    check_session_count(state, &body).await?;
    let cancel =
        session.and_then(|session| CancelOnDrop::of_request(&state.sessions, &session, &body));
    parts.extensions.insert(InstanceKey(Arc::clone(&key)));
    // The handler needs no secrets.
    parts.headers.remove(header::AUTHORIZATION);
    let answered = state
        .mcp
        .handle(Request::from_parts(parts, full(body)))
        .await;
    if let Some(session) = answered.headers().get(SESSION)
        && let Ok(session) = session.to_str()
    {
        let open = state.sessions.sessions.read().await;
        state
            .session_keys
            .insert(session, &key, |session| open.contains_key(session));
    }
    Ok(match cancel {
        Some(cancel) => answered.map(|body| cancel.around(body)),
        None => answered,
    })
}

fn health(request: &Request<Incoming>, is_well: bool) -> Result<BoxResponse, Refusal> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "use GET"));
    }
    Ok(match is_well {
        true => response(StatusCode::OK, "ok"),
        false => response(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"),
    })
}

/// Answers a request for metrics. It needs a token that is valid for every instance, if there are tokens.
async fn metrics(state: &State, request: &Request<Incoming>) -> Result<BoxResponse, Refusal> {
    let tokens = &state.config.tokens;
    let presented = token::presented(request.headers(), tokens);
    if !tokens.is_empty() && presented.is_none_or(|token| token.instance().is_some()) {
        return Err(unauthorized());
    }
    if request.method() != Method::GET {
        return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "use GET"));
    }
    let (server, sessions) = (&state.server, state.sessions.sessions.read().await.len());
    let bundle = server.served.bundle();
    let text = server
        .metrics
        .text(bundle.host().sandbox(), server.in_flight(), sessions);
    let mut response = response(StatusCode::OK, text.trim_end());
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// Returns the instance of a request: that of its token, or that of its path.
fn instance_key(state: &State, request: &Request<Incoming>) -> Result<Arc<str>, Refusal> {
    let config = &state.config;
    let of_token = match token::presented(request.headers(), &config.tokens) {
        Some(token) => token.instance(),
        None if config.tokens.is_empty() => None,
        None => return Err(unauthorized()),
    };
    let of_path = key_of_path(request.uri().path());
    let missing = || refusal(StatusCode::NOT_FOUND, "the endpoint of MCP is /mcp");
    let key = match (of_path.ok_or_else(missing)?, of_token) {
        (None, None) => config.default_instance.clone(),
        (None, Some(key)) => key.to_owned(),
        (Some(path), Some(key)) if path == key => path,
        (Some(_), Some(_)) => {
            let text = "the token is not valid for this instance";
            return Err(refusal(StatusCode::FORBIDDEN, text));
        }
        (Some(path), None) if config.serve_paths => path,
        (Some(_), None) => return Err(missing()),
    };
    Ok(key.into())
}

/// Returns the key in a path: none of `/mcp`, `KEY` of `/mcp/KEY`.
fn key_of_path(path: &str) -> Option<Option<String>> {
    let rest = path.strip_prefix(ENDPOINT)?;
    let Some(key) = rest.strip_prefix('/') else {
        return rest.is_empty().then_some(None);
    };
    if key.is_empty() {
        return Some(None);
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_key = key.len() <= KEY_BYTES_MAX && key.bytes().all(is_plain);
    is_key.then(|| Some(key.to_owned()))
}

fn unauthorized() -> Refusal {
    let mut refused = refusal(
        StatusCode::UNAUTHORIZED,
        "send the token as `Authorization: Bearer TOKEN`",
    );
    let scheme = HeaderValue::from_static("Bearer realm=\"toolhost\"");
    refused
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, scheme);
    refused
}

/// Returns the id of a session. Refuses a request to the session of another instance.
async fn check_session(
    state: &State,
    session: &HeaderValue,
    key: &Arc<str>,
) -> Result<String, Refusal> {
    let session = session.to_str().unwrap_or_default();
    let open = state.sessions.sessions.read().await;
    // An unknown session gets the answer of the protocol, as one that has ended.
    if open.contains_key(session) && !state.session_keys.is(session, key) {
        return Err(refusal(StatusCode::NOT_FOUND, "the session does not exist"));
    }
    Ok(session.to_owned())
}

/// Refuses the request of a session if too many are open.
async fn check_session_count(state: &State, body: &[u8]) -> Result<(), Refusal> {
    #[derive(serde::Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        method: Option<Cow<'a, str>>,
    }
    if state.sessions.sessions.read().await.len() < state.config.max_sessions {
        return Ok(());
    }
    let message = serde_json::from_slice(body);
    let method = message.ok().and_then(|message: Message<'_>| message.method);
    if method.as_deref() != Some("initialize") {
        return Ok(());
    }
    let mut refused = refusal(
        StatusCode::SERVICE_UNAVAILABLE,
        "too many sessions are open",
    );
    let seconds = HeaderValue::from_static("10");
    refused.headers_mut().insert(header::RETRY_AFTER, seconds);
    Err(refused)
}
