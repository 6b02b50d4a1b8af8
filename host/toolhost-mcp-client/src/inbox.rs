//! Reads what a server sends, within limits, before the protocol's SDK sees it.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    DiscoverResult, EmptyResult, ErrorCode, ErrorData, InitializeResult, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolhost::tool::{JsonError, JsonLimits};

use crate::answer::{CallAnswer, MessageMemory, memory_of};
use crate::envelope::{Envelope, messages};
use crate::error::bounded;
use crate::guard::{SentRequest, Watch};
use crate::list::readable_tools;

/// Limits of a request, a notification or an error of a server. The parser of the protocol's SDK copies what
/// it reads several times.
const SMALL: JsonLimits = JsonLimits::new(1 << 20, 64, 20_000)
    .replacing_surrogates()
    .rounding_integers();

/// Longest answer to `initialize` or `server/discover`.
const STARTUP: JsonLimits = JsonLimits::new(4 << 20, 64, 100_000)
    .replacing_surrogates()
    .rounding_integers();

/// Most values of a page of a list.
const LIST_VALUES_MAX: u64 = 200_000;

/// Deepest nesting of a result. The parser itself allows 127.
const DEPTH_MAX: usize = 120;

/// A text of a server, such as a line, and the memory that it takes when it is parsed.
pub(crate) struct Incoming<'t> {
    text: Cow<'t, str>,
    memory: Arc<MessageMemory>,
}

impl<'t> Incoming<'t> {
    /// Waits for the memory of a line, a body or the data of an event. Bytes that are not UTF-8 become U+FFFD;
    /// a byte order mark is skipped. Cancel safe: nothing is lost that the caller does not have.
    pub(crate) async fn of(bytes: &'t [u8]) -> Self {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let memory = Arc::new(memory_of(&text).await);
        Self { text, memory }
    }
}

impl Watch {
    /// Returns the messages of a text that are passed on: first answers to requests, and what the protocol's
    /// SDK must see. Others are counted and dropped. An answer that cannot be read is one with an error.
    pub(crate) fn read(&self, incoming: &Incoming<'_>) -> Vec<ServerJsonRpcMessage> {
        let mut passed = Vec::new();
        for message in messages(&incoming.text) {
            if self.failed.is_cancelled() {
                break;
            }
            passed.extend(self.read_one(message, &incoming.memory));
        }
        passed
    }

    fn read_one(&self, message: &str, memory: &Arc<MessageMemory>) -> Option<ServerJsonRpcMessage> {
        let envelope = Envelope::of(message);
        if let Some(method) = envelope.method {
            self.count_unsolicited();
            return match &envelope.id {
                Some(id) => self.request(message, id),
                None => self.notified(method, message, envelope.params),
            };
        }
        let request = match &envelope.id {
            Some(id) => self.take(id),
            // A server that could not read the id of a request answers with none.
            None if envelope.is_id_null && envelope.error.is_some() => self.take_only(),
            None => None,
        };
        let Some((id, request)) = request else {
            self.count_unsolicited();
            // The message itself may hold results.
            tracing::debug!(
                target: "toolhost::mcp", server = %self.server,
                "a message that answers no request, or is no message"
            );
            return None;
        };
        self.has_answered.cancel();
        let result = match (envelope.error, envelope.result) {
            (Some(error), _) => Err(error_of(error)),
            (None, Some(result)) => self.result(result, &request, memory),
            (None, None) => Err(invalid("it has neither a result nor an error")),
        };
        Some(match result {
            Ok(result) => ServerJsonRpcMessage::response(result, id),
            Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
        })
    }

    /// A request of the server.
    fn request(&self, message: &str, id: &RequestId) -> Option<ServerJsonRpcMessage> {
        match SMALL.parse(message) {
            Ok(request) => self.is_new_request(id).then_some(request),
            Err(error) => {
                tracing::debug!(target: "toolhost::mcp", server = %self.server, "a request that {error}");
                None
            }
        }
    }

    fn notified(
        &self,
        method: &str,
        message: &str,
        params: Option<&str>,
    ) -> Option<ServerJsonRpcMessage> {
        match method {
            "notifications/tools/list_changed" => self.list_changed.notify_one(),
            "notifications/message" => self.log(params.unwrap_or_default()),
            "notifications/subscriptions/acknowledged" | "notifications/cancelled" => {
                return SMALL.parse(message).ok();
            }
            // Others are for capabilities that this client lacks.
            _ => {}
        }
        None
    }

    fn log(&self, params: &str) {
        // Beyond the limits a message says nothing that is worth its memory.
        if let Ok(params) = SMALL.parse::<Value>(params) {
            let level = params.get("level").and_then(Value::as_str);
            let data = params.get("data").unwrap_or(&Value::Null);
            let message = match data.as_str() {
                Some(text) => Cow::Borrowed(text),
                None => Cow::Owned(data.to_string()),
            };
            self.log_message(level.unwrap_or("info"), &message);
        }
    }

    /// Returns the result that the protocol's SDK gets.
    fn result(
        &self,
        result: &str,
        request: &SentRequest,
        memory: &Arc<MessageMemory>,
    ) -> Result<ServerResult, ErrorData> {
        let limits = JsonLimits::new(self.message_bytes, DEPTH_MAX, self.message_values)
            .replacing_surrogates();
        match request {
            SentRequest::Call(slot) => {
                let result = limits.parse(result);
                slot.fill(CallAnswer {
                    result: result.map_err(|error| reason(&error)),
                    _memory: Arc::clone(memory),
                });
                Ok(ServerResult::EmptyResult(EmptyResult {}))
            }
            SentRequest::List(slot) => {
                // The SDK copies it.
                let mut limits = limits.rounding_integers();
                limits.values = limits.values.min(LIST_VALUES_MAX);
                let result = typed(result, &limits)?;
                let (list, findings) = readable_tools(result).map_err(invalid)?;
                findings.into_iter().for_each(|finding| slot.add(finding));
                Ok(ServerResult::ListToolsResult(list))
            }
            // An error tells the SDK that the server has an earlier revision.
            SentRequest::Discover => {
                let result: DiscoverResult = typed(result, &STARTUP)?;
                Ok(ServerResult::DiscoverResult(result))
            }
            SentRequest::Initialize => {
                let result: InitializeResult = typed(result, &STARTUP)?;
                Ok(ServerResult::InitializeResult(result))
            }
            SentRequest::Other => typed(result, &SMALL),
        }
    }
}

fn typed<T: DeserializeOwned>(result: &str, limits: &JsonLimits) -> Result<T, ErrorData> {
    limits
        .parse(result)
        .map_err(|error| invalid(reason(&error)))
}

/// Why an answer is not used. It follows the name of the server.
fn reason(error: &JsonError) -> String {
    bounded(format_args!("its answer {error}"))
}

fn invalid(reason: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(format!("the answer is not valid: {reason}"), None)
}

/// Returns the error of a message, whatever request it answers.
pub(crate) fn error_in(body: &[u8]) -> Option<ErrorData> {
    let text = std::str::from_utf8(body).ok()?;
    Envelope::of(text.trim_start_matches('\u{feff}'))
        .error
        .map(error_of)
}

/// Reads an error; whatever it is, its words are those of the server.
fn error_of(error: &str) -> ErrorData {
    let value = match SMALL.parse(error) {
        Ok(value) => value,
        Err(error) => return invalid(reason(&error)),
    };
    if let Ok(error) = serde_json::from_value(Value::clone(&value)) {
        return error;
    }
    let words = value.get("message").unwrap_or(&value);
    let words = match words.as_str() {
        Some(words) => words.to_owned(),
        None => words.to_string(),
    };
    let code = value.get("code").and_then(Value::as_i64);
    let code = code.and_then(|code| i32::try_from(code).ok());
    ErrorData::new(
        code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode),
        words,
        None,
    )
}

#[cfg(test)]
mod tests;
