//! The response to a request of a session: dropped before its end, it cancels the request.
//!
//! Without a session the SDK does this itself.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::Bytes;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::{Value, json};

/// Cancels a request of a session when it is dropped.
pub(super) struct CancelOnDrop {
    sessions: Arc<LocalSessionManager>,
    session: Arc<str>,
    /// Id of the request. None once its response has ended.
    request: Option<Value>,
}

impl CancelOnDrop {
    /// Returns what cancels the request in this body; none if the body is no request.
    pub(super) fn of_request(
        sessions: &Arc<LocalSessionManager>,
        session: &str,
        body: &[u8],
    ) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Message {
            id: Value,
            #[serde(rename = "method")]
            _method: serde::de::IgnoredAny,
        }
        let message: Message = serde_json::from_slice(body).ok()?;
        Some(Self {
            sessions: Arc::clone(sessions),
            session: session.into(),
            request: Some(message.id),
        })
    }

    /// Returns a body that cancels the request if it is dropped before its end.
    pub(super) fn around(self, body: BoxBody<Bytes, Infallible>) -> BoxBody<Bytes, Infallible> {
        CancellingBody { body, call: self }.boxed()
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.request.take() else {
            return;
        };
        let message = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "the response was dropped"},
        });
        let Ok(message) = serde_json::from_value(message) else {
            return;
        };
        let (sessions, session) = (Arc::clone(&self.sessions), Arc::clone(&self.session));
        tokio::spawn(async move {
            // The session may have ended, or the call.
            let _is_open = sessions.accept_message(&session, message).await.is_ok();
        });
    }
}

struct CancellingBody {
    body: BoxBody<Bytes, Infallible>,
    call: CancelOnDrop,
}

impl Body for CancellingBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(None) = polled {
            self.call.request = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
