//! Whose instance a request may use: decided by its token and its path.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Request, StatusCode, header};

use super::body::{Refusal, refusal};
use super::oauth::{AuthorizationServer, TokenError};
use super::state::HttpState;
use super::token::presented;

/// The endpoint of MCP.
const ENDPOINT: &str = "/mcp";

/// Longest key of an instance, in bytes.
const KEY_BYTES_MAX: usize = 256;

/// What the token of a request is valid for.
enum Scope {
    /// Every instance.
    All,
    One(String),
}

/// The instance of a request.
#[derive(Debug, Clone)]
pub(super) struct RequestInstance {
    pub(super) key: Arc<str>,
    /// Whether the token of the request is valid for this instance alone: its key identifies the user.
    pub(super) is_of_token: bool,
}

/// Returns the instance of a request: that of its token, or that of its path.
///
/// # Errors
/// The status 401 without a valid token, 403 if it is valid for another instance, 404 if the path is not the
/// endpoint.
pub(super) async fn instance_key<B>(
    state: &HttpState,
    request: &Request<B>,
) -> Result<RequestInstance, Refusal> {
    let config = &state.config;
    let scope = scope(state, request.headers()).await?;
    let is_of_token = matches!(scope, Scope::One(_));
    let missing = || refusal(StatusCode::NOT_FOUND, "the endpoint of MCP is /mcp");
    let of_path = key_of_path(request.uri().path()).ok_or_else(missing)?;
    let key = match (of_path, scope) {
        (None, Scope::All) => config.default_instance.clone(),
        (None, Scope::One(key)) => key,
        (Some(path), Scope::One(key)) if path == key => path,
        (Some(_), Scope::One(_)) => {
            let text = "the token is not valid for this instance";
            return Err(refusal(StatusCode::FORBIDDEN, text));
        }
        (Some(path), Scope::All) if config.serve_paths => path,
        (Some(_), Scope::All) => return Err(missing()),
    };
    Ok(RequestInstance {
        key: key.into(),
        is_of_token,
    })
}

/// Checks that a request has a token that is valid for every instance, if there are tokens.
///
/// # Errors
/// The status 401.
pub(super) fn check_operator(state: &HttpState, headers: &HeaderMap) -> Result<(), Refusal> {
    let is_operator = || {
        let token = presented(headers).and_then(|bearer| state.tokens.find(bearer));
        token.is_some_and(|token| token.instance().is_none())
    };
    if state.is_open || is_operator() {
        return Ok(());
    }
    Err(unauthorized(None, None))
}

async fn scope(state: &HttpState, headers: &HeaderMap) -> Result<Scope, Refusal> {
    let oauth = state.oauth.as_ref();
    if state.is_open {
        return Ok(Scope::All);
    }
    let Some(bearer) = presented(headers) else {
        return Err(unauthorized(oauth, None));
    };
    if let Some(token) = state.tokens.find(bearer) {
        return Ok(match token.instance() {
            Some(key) => Scope::One(key.to_owned()),
            None => Scope::All,
        });
    }
    let Some(server) = oauth else {
        return Err(unauthorized(None, None));
    };
    let subject = server.subject_of(bearer).await;
    subject
        .map(Scope::One)
        .map_err(|error| unauthorized(oauth, Some(error)))
}

/// Returns the refusal of a request without a valid token. It says where a client gets one.
fn unauthorized(oauth: Option<&AuthorizationServer>, error: Option<TokenError>) -> Refusal {
    let (status, text) = match &error {
        Some(error) => (error.status(), error.to_string()),
        None => (
            StatusCode::UNAUTHORIZED,
            "send the token as `Authorization: Bearer TOKEN`".to_owned(),
        ),
    };
    let mut response = refusal(status, &text);
    let challenge = match oauth {
        Some(server) => server.challenge(error.as_ref()),
        None => "Bearer realm=\"toolhost\"".to_owned(),
    };
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
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
