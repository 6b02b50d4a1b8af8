//! From a request to a response.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
    REFERRER_POLICY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes};
use tower_service::Service;

use crate::api::{self, Answer, ApiRequest};
use crate::assets::{self, INDEX};
use crate::failure::Failure;
use crate::page::{Page, PageInner};
use crate::query::Query;

/// Largest body of a request, in bytes.
const BODY_BYTES_MAX: usize = 1 << 20;

/// What the page may do: load its own files and ask its own server. Texts never become markup.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'",
);

impl<B> Service<Request<B>> for Page
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let page = Arc::clone(&self.0);
        Box::pin(async move { Ok(answer(&page, request).await) })
    }
}

async fn answer<B>(page: &PageInner, request: Request<B>) -> Response<Full<Bytes>>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let response = match path.strip_prefix("api/") {
        Some(path) => match api_answer(page, path, request).await {
            Ok(Answer::Json(value)) => {
                response(StatusCode::OK, "application/json", value.to_string())
            }
            Ok(Answer::File(bytes)) => response(StatusCode::OK, "application/octet-stream", bytes),
            Err(failure) => response(
                failure.status,
                "application/json",
                failure.to_value().to_string(),
            ),
        },
        None => file(&path, request.method()),
    };
    secured(response)
}

async fn api_answer<B>(page: &PageInner, path: &str, request: Request<B>) -> Result<Answer, Failure>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let viewer = viewer(page, request.headers())?;
    let query = Query::parse(request.uri().query().unwrap_or_default())?;
    let method = request.method().clone();
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX)
        .collect()
        .await;
    let body = body.map_err(|_| {
        let message = format!("the request has more than {BODY_BYTES_MAX} bytes, or was cut");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    })?;
    let request = ApiRequest {
        method,
        viewer,
        query,
        body: body.to_bytes(),
    };
    api::answer(page, path, request).await
}

/// Returns the name of who asks. Nothing but this header says so: no cookie that a browser adds by itself.
fn viewer(page: &PageInner, headers: &HeaderMap) -> Result<String, Failure> {
    let given = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let token = given.and_then(|value| value.split_once(' '));
    let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let name = token.and_then(|(_, token)| page.viewers.who(token.trim()));
    name.map(str::to_owned).ok_or_else(|| {
        Failure::new(
            StatusCode::UNAUTHORIZED,
            "the token is not one of this page",
        )
        .hint("Open the address that was printed when the page started: it has the token.")
    })
}

fn file(path: &str, method: &Method) -> Response<Full<Bytes>> {
    if method != Method::GET && method != Method::HEAD {
        let mut refused = response(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET");
        refused
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let name = if path.is_empty() {
        INDEX
    } else {
        path.strip_prefix("assets/").unwrap_or_default()
    };
    match assets::find(name) {
        Some(asset) => response(StatusCode::OK, asset.kind(), asset.bytes),
        None => response(StatusCode::NOT_FOUND, "text/plain", "there is no such page"),
    }
}

fn response(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn secured(mut response: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ] {
        headers.insert(name, value);
    }
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "clipboard-write=(self)"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
