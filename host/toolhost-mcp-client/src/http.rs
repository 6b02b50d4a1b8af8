//! The HTTP client of the protocol's SDK, over the egress of guests.

mod events;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use http::request::Builder;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use toolhost::http::{HttpClient, HttpClientBody};

use crate::egress_error::EgressError;
use crate::guard::Watch;
use crate::oauth::OAuth;
use crate::unauthorized::Unauthorized;

type HttpError = StreamableHttpError<EgressError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Sends the requests of the protocol. The credentials are added beneath.
#[derive(Clone)]
pub(crate) struct Egress {
    pub(crate) client: HttpClient,
    /// Sends in place of the client, with a token.
    pub(crate) oauth: Option<Arc<OAuth>>,
    pub(crate) watch: Arc<Watch>,
}

impl Egress {
    fn events(
        &self,
        response: Response<HttpClientBody>,
        max: usize,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        events::bounded(response.into_body(), max, Arc::clone(&self.watch))
    }

    async fn send(
        &self,
        request: Builder,
        body: Bytes,
    ) -> Result<Response<HttpClientBody>, HttpError> {
        let request = request.body(body).map_err(|error| {
            StreamableHttpError::UnexpectedServerResponse(error.to_string().into())
        })?;
        let sent = match &self.oauth {
            Some(oauth) => oauth.send(request).await,
            None => self.client.send(request).await.map_err(EgressError::from),
        };
        match sent {
            Ok(response) if response.status() == StatusCode::UNAUTHORIZED => {
                let refused = Unauthorized::without_oauth(response.status());
                Err(StreamableHttpError::Client(refused.into()))
            }
            Ok(response) => Ok(response),
            Err(error) => Err(StreamableHttpError::Client(error)),
        }
    }
}

fn request(method: Method, uri: &str, session: Option<&str>, headers: Headers) -> Builder {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match session {
        Some(session) => request.header(HEADER_SESSION_ID, session),
        None => request,
    }
}

impl StreamableHttpClient for Egress {
    type Error = EgressError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            limits,
        )
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let accept = format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}");
        let request = request(Method::POST, &uri, session_id.as_deref(), custom_headers)
            .header(header::CONTENT_TYPE, JSON_MIME_TYPE)
            .header(header::ACCEPT, accept);
        let response = self
            .send(request, serde_json::to_vec(&message)?.into())
            .await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = text_header(response.headers(), HEADER_SESSION_ID);
        if !status.is_success() {
            let body = read(response, limits.max_json_response_size).await;
            let error = body.as_deref().unwrap_or_default();
            return refused(&message, session_id.is_some(), status, error, session);
        }
        let awaits_nothing = !matches!(message, JsonRpcMessage::Request(_));
        match content_type(response.headers()) {
            ContentType::Events => {
                let events = self.events(response, limits.max_sse_event_size);
                Ok(StreamableHttpPostResponse::Sse(events, session))
            }
            _ if awaits_nothing => Ok(StreamableHttpPostResponse::Accepted),
            ContentType::Json => {
                let body = read(response, limits.max_json_response_size).await?;
                match serde_json::from_slice(&body) {
                    Ok(answer) => {
                        let answer = known_or_error(&message, answer);
                        Ok(StreamableHttpPostResponse::Json(answer, session))
                    }
                    // The body may hold results, so it is not quoted.
                    Err(error) => {
                        let reason = format!("the body is not a valid message: {error}");
                        Err(StreamableHttpError::UnexpectedServerResponse(reason.into()))
                    }
                }
            }
            ContentType::Other(found) => Err(StreamableHttpError::UnexpectedContentType(found)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), HttpError> {
        let request = request(Method::DELETE, &uri, Some(&session_id), custom_headers);
        let status = self.send(request, Bytes::new()).await?.status();
        if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        Err(unexpected(status, ""))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let most = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            most,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let mut request = request(Method::GET, &uri, session_id.as_deref(), custom_headers)
            .header(header::ACCEPT, EVENT_STREAM_MIME_TYPE);
        if let Some(last) = last_event_id {
            request = request.header(HEADER_LAST_EVENT_ID, last);
        }
        let response = self.send(request, Bytes::new()).await?;
        match (response.status(), content_type(response.headers())) {
            (StatusCode::METHOD_NOT_ALLOWED, _) => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            (StatusCode::NOT_FOUND, _) if session_id.is_some() => {
                Err(StreamableHttpError::SessionExpired)
            }
            (status, ContentType::Events) if status.is_success() => {
                Ok(self.events(response, max_sse_event_size))
            }
            (status, ContentType::Json | ContentType::Other(_)) if status.is_success() => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            (status, _) => Err(unexpected(status, "")),
        }
    }
}

/// Some servers answer methods that they do not know with an empty result. For the question for its
/// revisions, which only the newest know, that is an error.
fn known_or_error(
    message: &ClientJsonRpcMessage,
    answer: ServerJsonRpcMessage,
) -> ServerJsonRpcMessage {
    match (message, &answer) {
        (JsonRpcMessage::Request(request), JsonRpcMessage::Response(response))
            if matches!(request.request, ClientRequest::DiscoverRequest(_))
                && matches!(response.result, ServerResult::EmptyResult(_)) =>
        {
            let error = ErrorData::invalid_request("an empty result", None);
            ServerJsonRpcMessage::error(error, Some(request.id.clone()))
        }
        _ => answer,
    }
}

/// Returns the JSON-RPC error of a response, or an error with its status.
fn refused(
    message: &ClientJsonRpcMessage,
    has_session: bool,
    status: StatusCode,
    body: &[u8],
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let error = match serde_json::from_slice(body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        Ok(_) | Err(_) => None,
    };
    let is_denied = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    // A server of an earlier revision refuses the question for its revisions, often without its id.
    if let JsonRpcMessage::Request(request) = message
        && let ClientRequest::DiscoverRequest(_) = request.request
        && status.is_client_error()
        && !is_denied
        && !has_session
    {
        let error = match error {
            Some(error) => error.error,
            None => ErrorData::invalid_request(format!("HTTP {status}"), None),
        };
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match error {
        Some(error) if !is_denied && error.id.is_some() => {
            let answer = JsonRpcMessage::Error(error);
            Ok(StreamableHttpPostResponse::Json(answer, session))
        }
        Some(error) => Err(unexpected(status, &error.error.message)),
        None => Err(unexpected(status, "")),
    }
}

fn unexpected(status: StatusCode, detail: &str) -> HttpError {
    let separator = if detail.is_empty() { "" } else { ": " };
    let reason = format!("it answered with HTTP {status}{separator}{detail}");
    StreamableHttpError::UnexpectedServerResponse(reason.into())
}

enum ContentType {
    Events,
    Json,
    Other(Option<String>),
}

fn content_type(headers: &HeaderMap) -> ContentType {
    let found = text_header(headers, header::CONTENT_TYPE.as_str());
    let essence = found.as_deref().and_then(|whole| whole.split(';').next());
    match essence.map(str::trim) {
        Some(essence) if essence.eq_ignore_ascii_case(EVENT_STREAM_MIME_TYPE) => {
            ContentType::Events
        }
        Some(essence) if essence.eq_ignore_ascii_case(JSON_MIME_TYPE) => ContentType::Json,
        _ => ContentType::Other(found),
    }
}

fn text_header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// Reads a body of at most `max` bytes.
async fn read(response: Response<HttpClientBody>, max: usize) -> Result<Bytes, HttpError> {
    let mut body = response.into_body();
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| StreamableHttpError::Client(error.into()))?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if bytes.len().saturating_add(data.len()) > max {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: max });
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes.freeze())
}
