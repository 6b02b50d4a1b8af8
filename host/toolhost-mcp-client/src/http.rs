//! The HTTP client of the protocol's SDK, over the egress of guests.

mod events;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::request::Builder;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use toolhost::http::{HttpClient, HttpClientError, ResponseBody};

use crate::egress_error::{EgressError, HttpRefusal};
use crate::guard::{SMALL_BYTES, Watch};
use crate::inbox::{Incoming, error_in};
use crate::oauth::OAuth;
use crate::unauthorized::Unauthorized;

type HttpError = StreamableHttpError<EgressError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Bytes that are read of the body of a refusal.
const REFUSAL_BYTES: usize = 64 << 10;

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
        response: Response<ResponseBody>,
        max: usize,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        events::bounded(response.into_body(), max, Arc::clone(&self.watch))
    }

    async fn send(
        &self,
        request: Builder,
        body: Bytes,
    ) -> Result<Response<ResponseBody>, HttpError> {
        let request = request.body(body).map_err(|error| {
            StreamableHttpError::UnexpectedServerResponse(error.to_string().into())
        })?;
        let response = match &self.oauth {
            Some(oauth) => oauth.send(request).await,
            None => self.client.send(request).await.map_err(EgressError::from),
        };
        match response {
            Ok(response) if response.status() == StatusCode::UNAUTHORIZED => {
                let refusal = Unauthorized::without_oauth(response.status());
                Err(StreamableHttpError::Client(refusal.into()))
            }
            Ok(response) => Ok(response),
            Err(error) => Err(StreamableHttpError::Client(error)),
        }
    }
}

impl Egress {
    async fn post(
        &self,
        request: Builder,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        limits: &StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let response = self
            .send(request, serde_json::to_vec(message)?.into())
            .await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let new_session = text_header(response.headers(), HEADER_SESSION_ID);
        if !status.is_success() {
            let body = self.beginning(response).await;
            return self
                .refused(message, session.is_some(), status, &body, new_session)
                .await;
        }
        let JsonRpcMessage::Request(request) = message else {
            return Ok(match content_type(response.headers()) {
                ContentType::Events => {
                    let events = self.events(response, limits.max_sse_event_size);
                    StreamableHttpPostResponse::Sse(events, new_session)
                }
                ContentType::Json | ContentType::Other(_) => StreamableHttpPostResponse::Accepted,
            });
        };
        if let Some(coding) = text_header(response.headers(), header::CONTENT_ENCODING.as_str())
            && !coding.eq_ignore_ascii_case("identity")
        {
            return Err(invalid(format_args!(
                "its body is compressed with '{coding}', which was not requested"
            )));
        }
        match content_type(response.headers()) {
            ContentType::Events => {
                let events = self.events(response, limits.max_sse_event_size);
                Ok(StreamableHttpPostResponse::Sse(events, new_session))
            }
            // Some servers forget it.
            ContentType::Json | ContentType::Other(None) => {
                let body = self.read(response, limits.max_json_response_size).await?;
                let mut messages = self.watch.read(&Incoming::of(&body).await);
                drop(body);
                if self.watch.is_awaited(&request.id) {
                    let error = ErrorData::invalid_request("no valid answer", None);
                    if let Some(error) = self.of_discovery(message, error) {
                        return Ok(error);
                    }
                    // The body may hold results, so it is not quoted.
                    return Err(invalid("the body is not a valid answer to the request"));
                }
                match messages.pop() {
                    Some(answer) if messages.is_empty() => {
                        Ok(StreamableHttpPostResponse::Json(answer, new_session))
                    }
                    last => {
                        messages.extend(last);
                        let events: Vec<Sse> =
                            messages.iter().filter_map(events::event_of).collect();
                        let events = stream::iter(events.into_iter().map(Ok)).boxed();
                        Ok(StreamableHttpPostResponse::Sse(events, new_session))
                    }
                }
            }
            ContentType::Other(found) => Err(StreamableHttpError::UnexpectedContentType(found)),
        }
    }

    /// Reads a body of at most `max` bytes. A few large ones are read at once.
    async fn read(&self, response: Response<ResponseBody>, max: usize) -> Result<Bytes, HttpError> {
        let mut body = response.into_body();
        let mut bytes = BytesMut::new();
        let mut large = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                StreamableHttpError::Client(HttpClientError::from(error).into())
            })?;
            let Some(data) = frame.data_ref() else {
                continue;
            };
            let size = bytes.len().saturating_add(data.len());
            if size > max {
                return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: max });
            }
            if size > SMALL_BYTES && large.is_none() {
                // It fails only if the semaphore is closed.
                large = self.watch.large.acquire().await.ok();
            }
            bytes.extend_from_slice(data);
        }
        Ok(bytes.freeze())
    }

    /// Reads the beginning of a body that is only read for its words.
    async fn beginning(&self, response: Response<ResponseBody>) -> Bytes {
        let mut body = response.into_body();
        let mut bytes = BytesMut::new();
        while let Some(Ok(frame)) = body.frame().await {
            let Some(data) = frame.data_ref() else {
                continue;
            };
            let free = REFUSAL_BYTES.saturating_sub(bytes.len());
            bytes.extend_from_slice(data.get(..free).unwrap_or(data));
            if bytes.len() >= REFUSAL_BYTES {
                break;
            }
        }
        bytes.freeze()
    }

    /// Returns the JSON-RPC error of a response, or an error with its status and words.
    async fn refused(
        &self,
        message: &ClientJsonRpcMessage,
        has_session: bool,
        status: StatusCode,
        body: &Bytes,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let is_denied = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let mut answers = Vec::new();
        if matches!(message, JsonRpcMessage::Request(_)) && !is_denied {
            answers = self.watch.read(&Incoming::of(body).await);
        }
        answers.retain(|answer| matches!(answer, JsonRpcMessage::Error(_)));
        if let Some(answer) = answers.pop() {
            return Ok(StreamableHttpPostResponse::Json(answer, session));
        }
        // A server of an earlier revision refuses the question for its revisions, often without its id.
        if status.is_client_error()
            && !is_denied
            && !has_session
            && let error = error_in(body)
                .unwrap_or_else(|| ErrorData::invalid_request(format!("HTTP {status}"), None))
            && let Some(error) = self.of_discovery(message, error)
        {
            return Ok(error);
        }
        Err(StreamableHttpError::Client(
            HttpRefusal::new(status, body).into(),
        ))
    }

    /// Returns the answer of a server of an earlier revision to the question for its revisions, if the message
    /// is that.
    fn of_discovery(
        &self,
        message: &ClientJsonRpcMessage,
        error: ErrorData,
    ) -> Option<StreamableHttpPostResponse> {
        if let JsonRpcMessage::Request(request) = message
            && let ClientRequest::DiscoverRequest(_) = request.request
        {
            self.watch.take(&request.id);
            self.watch.has_answered.cancel();
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Some(StreamableHttpPostResponse::Json(answer, None));
        }
        None
    }
}

fn invalid(reason: impl std::fmt::Display) -> HttpError {
    StreamableHttpError::Client(EgressError::InvalidBody(reason.to_string()))
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
        // An expired session is initialized again without the transport above.
        self.watch.sending(&message);
        let posted = self
            .post(request, &message, session_id.as_deref(), &limits)
            .await;
        if posted.is_err()
            && let JsonRpcMessage::Request(request) = &message
        {
            self.watch.take(&request.id);
        }
        posted
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
        Err(StreamableHttpError::Client(
            HttpRefusal::new(status, b"").into(),
        ))
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
            (status, _) => Err(StreamableHttpError::Client(
                HttpRefusal::new(status, b"").into(),
            )),
        }
    }
}

enum ContentType {
    Events,
    Json,
    Other(Option<String>),
}

fn content_type(headers: &HeaderMap) -> ContentType {
    let header = text_header(headers, header::CONTENT_TYPE.as_str());
    let essence = header.as_deref().and_then(|whole| whole.split(';').next());
    match essence.map(str::trim) {
        Some(essence) if essence.eq_ignore_ascii_case(EVENT_STREAM_MIME_TYPE) => {
            ContentType::Events
        }
        Some(essence) if essence.eq_ignore_ascii_case(JSON_MIME_TYPE) => ContentType::Json,
        _ => ContentType::Other(header),
    }
}

fn text_header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
