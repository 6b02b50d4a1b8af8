//! What is wrong with a request.

use http::StatusCode;
use serde_json::{Value, json};
use toolhost::approvals::ApprovalError;
use toolhost::calls::CallLogError;

/// Why a request is refused or fails: for the person before the page.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    hint: Option<&'static str>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn internal(error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        tracing::warn!(error = message, "the page cannot answer a request");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub(crate) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut error = json!({ "message": self.message });
        if let (Some(hint), Some(error)) = (self.hint, error.as_object_mut()) {
            error.insert("hint".to_owned(), hint.into());
        }
        json!({ "error": error })
    }
}

impl From<CallLogError> for Failure {
    fn from(error: CallLogError) -> Self {
        Self::internal(&error)
    }
}

impl From<ApprovalError> for Failure {
    fn from(error: ApprovalError) -> Self {
        use ApprovalError::{Decided, Ended, Expired, Unknown};
        if matches!(error, Unknown { .. }) {
            Self::not_found(error.to_string())
        } else if matches!(error, Decided { .. } | Expired | Ended) {
            Self::new(StatusCode::CONFLICT, error.to_string())
        } else {
            Self::internal(&error)
        }
    }
}
