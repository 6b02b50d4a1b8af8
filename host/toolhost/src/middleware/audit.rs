//! The audit log: JSON lines for each tool call, executed or denied.

mod entry;
mod writer;

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use toolhost_contract::ToolResult;
use toolhost_runtime::debug_fields;

use self::entry::Entry;
use self::writer::{Slot, Writer};
use super::contexts::ToolCallContext;
use super::pipeline::{Middleware, Next};

/// The message of a call that is refused because it cannot be recorded.
const NOT_RECORDED: &str = "The call was not run: the audit log cannot record it.";

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

/// What happens to a call that an [`AuditLog`] cannot record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AuditFailure {
    /// The call is refused with `E_MIDDLEWARE` before it runs. Each call waits until its first line is
    /// written, and returns once its last line was.
    #[default]
    Refuse,
    /// The call runs. Its only line is written after it, and is lost if that fails.
    Continue,
}

/// A `toolCall` middleware that writes JSON lines for each tool call, also for denied ones: one before
/// the call runs, with the decision `requested`, and one with its outcome.
///
/// ```json
/// {"time":"2026-11-21T05:00:00.000Z","agent":"coder","instance":"user-1","turn":"turn-1",
///  "step":"step-1","trace":"…","call":"call_1","tool":"bash__exec","inCatalog":true,"decision":"ran",
///  "status":"error","code":"E_TOOL_TIMEOUT","durationMs":30001.2,"usage":{…}}
/// ```
///
/// `decision` is one of:
///
/// - `requested`: the call is about to be decided. The line has no outcome. If no other line follows,
///   the host ended or the outcome could not be written. [`AuditFailure::Continue`] leaves it out;
/// - `ran`: the tool was executed. If `inCatalog` is false, the tool is in the registry and the policy
///   admits it;
/// - `polled`: the result of a pending call was requested;
/// - `refused`: the tool was not executed, because it is not in the catalog, the arguments are invalid,
///   another middleware denied the call or it could not be recorded;
/// - `dropped`: the caller dropped the call, or its turn was cancelled.
///
/// Arguments and outputs are not written because they may contain secrets. An id is truncated after 128
/// characters and then ends in `…`.
///
/// A thread of the log writes the lines, each with one write that is flushed. At most 16,384 lines wait
/// for it, those of the calls under way included. A call that cannot be recorded, because a write failed
/// or too many lines wait, is refused before it runs: see [`AuditFailure`] for the alternative. A failed
/// write is also logged with `tracing`, and the next line starts on a new line. While a write hangs, calls
/// wait for it.
///
/// Cheap to clone; clones share the thread. Register it with a low priority, so that it sees the
/// decisions of other middleware. Before the process ends, [`AuditLog::flush`] waits for the lines of
/// dropped calls.
#[derive(Clone)]
pub struct AuditLog {
    writer: Writer,
    on_failure: AuditFailure,
}

debug_fields!(AuditLog, this => on_failure: this.on_failure);

impl AuditLog {
    /// Creates an audit log that writes to `writer`, on a thread of its own.
    pub fn to(writer: impl Write + Send + 'static) -> Self {
        Self {
            writer: Writer::start(writer),
            on_failure: AuditFailure::default(),
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

    /// Sets what happens to a call that cannot be recorded. Default: [`AuditFailure::Refuse`].
    #[must_use]
    pub fn on_failure(self, on_failure: AuditFailure) -> Self {
        Self { on_failure, ..self }
    }

    /// Waits until the lines of all calls that ended or were dropped before are written, or could not be.
    pub async fn flush(&self) {
        self.writer.flush().await;
    }

    /// Reserves the places of the lines of one call: of the first, if there is one, and of the outcome.
    fn reserve(&self) -> Option<(Option<Slot>, Slot)> {
        let first = match self.on_failure {
            AuditFailure::Refuse => Some(self.writer.reserve()?),
            AuditFailure::Continue => None,
        };
        Some((first, self.writer.reserve()?))
    }

    async fn record(&self, context: ToolCallContext, next: Next<ToolCallContext>) -> ToolResult {
        let Some((first, last)) = self.reserve() else {
            tracing::error!(target: "toolhost::audit", "too many lines of the audit log wait");
            return match self.on_failure {
                AuditFailure::Refuse => context.refuse(NOT_RECORDED),
                AuditFailure::Continue => next.run(context).await,
            };
        };
        let mut entry = Entry::of(&context, last);
        let requested = entry.begin();
        let is_recorded = match first {
            Some(first) => first.send(requested).confirmed().await,
            None => true,
        };
        let result = if is_recorded {
            next.run(context).await
        } else {
            context.refuse(NOT_RECORDED)
        };
        if let (Some(written), AuditFailure::Refuse) = (entry.finish(&result), self.on_failure) {
            // The call has run: if this line is lost, the first one is left, and later calls are refused.
            let _is_written = written.confirmed().await;
        }
        result
    }
}

impl Middleware<ToolCallContext> for AuditLog {
    fn handle(
        &self,
        context: ToolCallContext,
        next: Next<ToolCallContext>,
    ) -> BoxFuture<'_, ToolResult> {
        Box::pin(self.record(context, next))
    }
}

#[cfg(test)]
mod tests;
