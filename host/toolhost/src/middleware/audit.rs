//! A record of every decision: one JSON line for each tool call, refused or run.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use serde_json::json;
use toolhost_contract::text::escape_json;
use toolhost_contract::{ErrorCode, ToolErrorCode, ToolResult, ToolStatus};

use super::contexts::{CallKind, ToolCallContext};
use super::pipeline::{Middleware, Next};
use super::progress::Progress;
use crate::events::Timestamp;
use futures_util::future::BoxFuture;
use toolhost_contract::text;

/// Longest id written, in characters: of a call, a turn, a trace, an instance.
const ID_SHOWN: usize = 128;

/// Why an audit log cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("the audit log {} cannot be opened", .path.display())]
pub struct AuditLogError {
    /// The path.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: std::io::Error,
}

/// Writes one JSON line for each tool call, those that are refused included: a `toolCall` middleware.
///
/// ```json
/// {"time":"2026-11-21T05:00:00.000Z","agent":"coder","instance":"user-1","turn":"turn-1",
///  "step":"step-1","trace":"…","call":"call_1","tool":"bash__exec","inCatalog":true,"decision":"ran",
///  "status":"error","code":"E_TOOL_TIMEOUT","durationMs":30001.2,"usage":{…}}
/// ```
///
/// `decision` is `ran`, `polled` (the result of a pending call was asked for), `refused` (the tool was
/// not run: not in the catalog, wrong arguments, another middleware) or `dropped` (the caller went
/// away). A call that ran and was not `inCatalog` is one of the registry,
/// which the policy admits. Arguments and outputs are not written: they may hold secrets.
/// Of an id longer than 128 characters, `…` stands for the rest.
///
/// A line is written whole, and at once; one that cannot be written is said through `tracing`, and
/// what there is of it stays a line of its own.
///
/// Cheap to clone; register it with a low priority, so that it sees what other layers decide.
#[derive(Clone)]
pub struct AuditLog {
    to: Arc<Mutex<Sink<dyn Write + Send>>>,
}

/// Where lines go.
struct Sink<W: ?Sized> {
    /// The last one may have been written in part.
    is_torn: bool,
    writer: W,
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditLog")
    }
}

impl AuditLog {
    /// Writes to this.
    pub fn to(writer: impl Write + Send + 'static) -> Self {
        Self {
            to: Arc::new(Mutex::new(Sink {
                is_torn: false,
                writer,
            })),
        }
    }

    /// Appends to a file, made where it is missing, for this user alone.
    ///
    /// # Errors
    /// [`AuditLogError`] where it cannot be opened.
    pub fn append(path: &Path) -> Result<Self, AuditLogError> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(|source| AuditLogError {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self::to(file))
    }

    fn write(&self, line: &serde_json::Value) {
        let json = line.to_string();
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = if to.is_torn { "\n" } else { "" };
        let text = format!("{begin}{}\n", escape_json(&json));
        let written = to.writer.write_all(text.as_bytes());
        let written = written.and_then(|()| to.writer.flush());
        to.is_torn = written.is_err();
        if let Err(error) = written {
            tracing::error!(target: "toolhost::audit", %error, "an audit line is lost");
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
            entry.ended(&result);
            result
        })
    }
}

/// An id within its bounds, as it is: the line escapes what acts.
fn id(whole: &str) -> String {
    let mut shown = text::cut(whole, ID_SHOWN);
    if shown.len() < whole.len() {
        shown.push('…');
    }
    shown
}

/// A line that is written whatever becomes of the call.
struct Entry<'a> {
    log: &'a AuditLog,
    call_kind: CallKind,
    progress: Arc<Progress>,
    line: serde_json::Value,
    started: Instant,
    is_ended: bool,
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
                "instance": id(context.instance_key()),
                "turn": id(context.turn_id()),
                "step": context.step_id(),
                "trace": id(context.trace_id()),
                "call": id(context.tool_call_id()),
                "tool": text::shorten(context.tool_name(), 128),
                "inCatalog": context.call_kind() != CallKind::CallOutsideCatalog,
            }),
            started: Instant::now(),
            is_ended: false,
        }
    }

    fn ended(&mut self, result: &ToolResult) {
        self.is_ended = true;
        let code = result.tool_error().map(|error| &error.code);
        let decision = match (self.progress.has_run(), self.call_kind) {
            (false, _) => "refused",
            (true, CallKind::Poll) => "polled",
            (true, CallKind::Call | CallKind::CallOutsideCatalog) => "ran",
        };
        self.finish(decision, result.status(), code);
        if let (Some(line), Ok(usage)) = (
            self.line.as_object_mut(),
            serde_json::to_value(result.usage()),
        ) {
            line.insert("usage".to_owned(), usage);
        }
        self.log.write(&self.line);
    }

    fn finish(&mut self, decision: &str, status: ToolStatus, code: Option<&ErrorCode>) {
        let Some(line) = self.line.as_object_mut() else {
            return;
        };
        let took = self.started.elapsed().as_secs_f64() * 1000.0;
        line.insert("decision".to_owned(), decision.into());
        line.insert("status".to_owned(), json!(status));
        line.insert("code".to_owned(), json!(code.map(ErrorCode::as_str)));
        line.insert("durationMs".to_owned(), took.into());
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if !self.is_ended {
            let code = ErrorCode::Host(ToolErrorCode::Cancelled);
            self.finish("dropped", ToolStatus::Error, Some(&code));
            self.log.write(&self.line);
        }
    }
}
