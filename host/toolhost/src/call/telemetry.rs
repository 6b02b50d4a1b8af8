//! Logs what guests log and print through `tracing`, target `toolhost::guest`.

use toolhost_contract::text;
use toolhost_sandbox::{CallReport, LogLevel, SandboxError};

use super::scope::TurnScope;
use crate::registry::RegisteredTool;

/// Logs what a guest logged and printed.
pub(super) fn record_run(turn: &TurnScope, tool: &RegisteredTool, report: &CallReport) {
    let (agent, tool) = (&*turn.origin.agent_name, tool.item.name.as_str());
    let redactor = &turn.agent().host.redactor;
    macro_rules! log {
        ($level:ident, $context:expr, $text:expr) => {
            tracing::$level!(target: "toolhost::guest", agent, tool, context = $context, "{}", redactor.text($text))
        };
    }
    for record in &report.log {
        let (context, message) = (&*redactor.text(&record.context), &record.message);
        match record.level {
            LogLevel::Trace => log!(trace, context, message),
            LogLevel::Debug => log!(debug, context, message),
            LogLevel::Info => log!(info, context, message),
            LogLevel::Warn => log!(warn, context, message),
            LogLevel::Error | LogLevel::Critical => log!(error, context, message),
        }
    }
    // Redacted as a whole: a secret may have several lines.
    for line in redactor.text(&report.stdout).lines() {
        log!(debug, "stdout", &text::escape_lines(line));
    }
    // The author of a tool that crashed needs what it printed before.
    let crashed = matches!(report.outcome, Err(SandboxError::Trap { .. }));
    let stderr = redactor.text(&report.stderr);
    for line in stderr.lines().filter(|line| !line.is_empty()) {
        let line = text::escape_lines(line);
        if crashed {
            log!(warn, "stderr", &line);
        } else {
            log!(debug, "stderr", &line);
        }
    }
}
