//! What the host says of its calls, through `tracing`: a library prints nothing.
//!
//! Targets: `toolhost::guest` (what guests log and print), `toolhost::audit` (decisions).

use toolhost_contract::ToolCall;
use toolhost_sandbox::{CallReport, LogLevel, SandboxError};

use crate::registry::RegisteredTool;
use crate::step::Scope;
use crate::turn::TurnInner;
use toolhost_contract::text;

/// A call outside the catalog that the policy lets through.
pub(crate) fn registry_call(scope: &Scope, call: &ToolCall) {
    tracing::info!(
        target: "toolhost::audit",
        agent = scope.turn.agent_name(),
        tool = text::shorten(&call.name, 128),
        "called from the registry: the policy allows it"
    );
}

/// Passes on what a guest logged and printed.
pub(crate) fn ran(turn: &TurnInner, tool: &RegisteredTool, report: &CallReport) {
    let (agent, tool) = (turn.agent_name(), tool.item.name.as_str());
    let redactor = &turn.agent().host.redactor;
    macro_rules! say {
        ($level:ident, $context:expr, $text:expr) => {
            tracing::$level!(target: "toolhost::guest", agent, tool, context = $context, "{}", redactor.text($text))
        };
    }
    for record in &report.log {
        let (context, message) = (&*redactor.text(&record.context), &record.message);
        match record.level {
            LogLevel::Trace => say!(trace, context, message),
            LogLevel::Debug => say!(debug, context, message),
            LogLevel::Info => say!(info, context, message),
            LogLevel::Warn => say!(warn, context, message),
            LogLevel::Error | LogLevel::Critical => say!(error, context, message),
        }
    }
    // Redacted as a whole: a secret may have several lines.
    for line in redactor.text(&report.stdout).lines() {
        say!(debug, "stdout", &text::escape_lines(line));
    }
    // What a tool printed before it crashed is what its author needs.
    let crashed = matches!(report.outcome, Err(SandboxError::Trap { .. }));
    let stderr = redactor.text(&report.stderr);
    for line in stderr.lines().filter(|line| !line.is_empty()) {
        if crashed {
            say!(warn, "stderr", &text::escape_lines(line));
        } else {
            say!(debug, "stderr", &text::escape_lines(line));
        }
    }
}
