//! The audit log: one JSON line for each tool call, executed or denied.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use toolhost_contract::text::{self, escape_json};
use toolhost_contract::{ToolErrorCode, ToolResult, ToolStatus};

use super::contexts::{CallKind, ToolCallContext};
use super::pipeline::{Middleware, Next};
use super::progress::Progress;
use crate::events::Timestamp;

/// Longest id in a line, in characters. Longer ones are truncated.
const ID_MAX_CHARS: usize = 128;

/// An audit log that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("the audit log {} cannot be opened", .path.display())]
pub struct AuditLogError {
    /// Path of the log.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub source: std::io::Error,
}

/// A `toolCall` middleware that writes one JSON line for each tool call, also for denied ones.
///
/// ```json
/// {"time":"2026-11-21T05:00:00.000Z","agent":"coder","instance":"user-1","turn":"turn-1",
///  "step":"step-1","trace":"…","call":"call_1","tool":"bash__exec","inCatalog":true,"decision":"ran",
///  "status":"error","code":"E_TOOL_TIMEOUT","durationMs":30001.2,"usage":{…}}
/// ```
///
/// `decision` is one of:
///
/// - `ran`: the tool was executed. If `inCatalog` is false, the tool is in the registry and the policy
///   admits it;
/// - `polled`: the result of a pending call was requested;
/// - `refused`: the tool was not executed, because it is not in the catalog, the arguments are invalid
///   or another middleware denied the call;
/// - `dropped`: the caller dropped the call.
///
/// Arguments and outputs are not written because they may contain secrets. An id is truncated after 128
/// characters and then ends in `…`.
///
/// Each line is written with one write and flushed. A failed write is logged with `tracing`; the next
/// line starts on a new line.
///
/// Cheap to clone. Register it with a low priority, so that it sees the decisions of other middleware.
#[derive(Clone)]
pub struct AuditLog {
    sink: Arc<Mutex<Sink<dyn Write + Send>>>,
}

struct Sink<W: ?Sized> {
    /// Whether the last line may be incomplete.
    is_incomplete: bool,
    writer: W,
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditLog")
    }
}

impl AuditLog {
    /// Creates an audit log that writes to `writer`.
    pub fn to(writer: impl Write + Send + 'static) -> Self {
        Self {
            sink: Arc::new(Mutex::new(Sink {
                is_incomplete: false,
                writer,
            })),
        }
    }

    /// Creates an audit log that appends to a file. A new file has mode 0600.
    ///
    /// # Errors
    /// [`AuditLogError`] if the file cannot be opened.
    pub fn append(path: &Path) -> Result<Self, AuditLogError> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(|source| AuditLogError {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self::to(file))
    }

    fn write(&self, line: &Value) {
        let json = line.to_string();
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = if sink.is_incomplete { "\n" } else { "" };
        let text = format!("{begin}{}\n", escape_json(&json));
        let written = sink.writer.write_all(text.as_bytes());
        let written = written.and_then(|()| sink.writer.flush());
        sink.is_incomplete = written.is_err();
        if let Err(error) = written {
            tracing::error!(target: "toolhost::audit", %error, "cannot write a line of the audit log");
        }
    }
}

impl Middleware<ToolCallContext> for AuditLog {
    fn handle(
        &self,
        context: ToolCallContext,
        next: Next<ToolCallContext>,
    ) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let mut entry = Entry::of(&context, self);
            let result = next.run(context).await;
            entry.set_result(&result);
            result
        })
    }
}

/// Truncates an id. The line escapes its control characters.
fn bounded_id(id: &str) -> String {
    let mut bounded = text::cut(id, ID_MAX_CHARS);
    if bounded.len() < id.len() {
        bounded.push('…');
    }
    bounded
}

/// The line of a call. It is written when this is dropped.
struct Entry<'a> {
    log: &'a AuditLog,
    call_kind: CallKind,
    progress: Arc<Progress>,
    line: Value,
    started: Instant,
}

impl<'a> Entry<'a> {
    fn of(context: &ToolCallContext, log: &'a AuditLog) -> Self {
        Self {
            log,
            call_kind: context.call_kind(),
            progress: Arc::clone(context.progress()),
            line: json!({
                "time": Timestamp(SystemTime::now()),
                "agent": context.agent_name(),
                "instance": bounded_id(context.instance_key()),
                "turn": bounded_id(context.turn_id()),
                "step": context.step_id(),
                "trace": bounded_id(context.trace_id()),
                "call": bounded_id(context.tool_call_id()),
                "tool": text::shorten(context.tool_name(), 128),
                "inCatalog": context.call_kind() != CallKind::CallOutsideCatalog,
                "decision": "dropped",
                "status": ToolStatus::Error,
                "code": ToolErrorCode::Cancelled.as_str(),
                "durationMs": 0.0,
            }),
            started: Instant::now(),
        }
    }

    /// Sets the outcome of a call that was not dropped.
    fn set_result(&mut self, result: &ToolResult) {
        let decision = match (self.progress.has_run(), self.call_kind) {
            (false, _) => "refused",
            (true, CallKind::Poll) => "polled",
            (true, CallKind::Call | CallKind::CallOutsideCatalog) => "ran",
        };
        let code = result.tool_error().map(|error| error.code.as_str());
        self.set("decision", decision);
        self.set("status", json!(result.status()));
        self.set("code", code);
        self.set("usage", json!(result.usage()));
    }

    fn set(&mut self, key: &str, value: impl Into<Value>) {
        if let Some(line) = self.line.as_object_mut() {
            line.insert(key.to_owned(), value.into());
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let took = self.started.elapsed().as_secs_f64() * 1000.0;
        self.set("durationMs", took);
        self.log.write(&self.line);
    }
}
