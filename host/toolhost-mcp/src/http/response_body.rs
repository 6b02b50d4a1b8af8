//! The body of a response, and what ends with it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use hyper::body::Bytes;
use rmcp::transport::streamable_http_server::session::SessionManager;
use serde_json::json;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::sessions::{SessionRequest, SessionUse};
use crate::shares::Share;

/// Cancels a request of a session if it is dropped before the end of its response. Without a session the
/// SDK does this itself.
pub(super) struct CancelOnDrop(Option<SessionRequest>);

impl CancelOnDrop {
    pub(super) fn new(request: SessionRequest) -> Self {
        Self(Some(request))
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(request) = self.0.take() else {
            return;
        };
        let message = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": request.id, "reason": "the response was dropped"},
        });
        let Ok(message) = serde_json::from_value(message) else {
            return;
        };
        tokio::spawn(async move {
            let manager = Arc::clone(&request.of.sessions.manager);
            // The session may have ended, or the call.
            let _is_open = manager
                .accept_message(&request.of.session, message)
                .await
                .is_ok();
        });
    }
}

/// A body that holds what lasts until its end.
pub(super) struct ResponseBody {
    pub(super) body: BoxBody<Bytes, Infallible>,
    pub(super) cancel: Option<CancelOnDrop>,
    /// Keeps the session of a stream open.
    pub(super) session: Option<SessionUse>,
    pub(super) stream: Option<Share>,
    /// The memory of the request.
    pub(super) memory: Option<Share>,
    /// While the server is drained, it waits for this response.
    pub(super) awaited: Option<TaskTrackerToken>,
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let has_ended = match &polled {
            Poll::Ready(None) => true,
            // After the last frame, a body need not be polled again.
            Poll::Ready(Some(_)) => self.body.is_end_stream(),
            Poll::Pending => false,
        };
        if has_ended {
            if let Some(mut cancel) = self.cancel.take() {
                cancel.0 = None;
            }
            self.session = None;
            self.stream = None;
            self.memory = None;
            self.awaited = None;
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
