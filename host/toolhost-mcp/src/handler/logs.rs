//! Forwards what a call logs to its client, while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ProtocolVersion};
use rmcp::service::RequestContext;
use serde_json::json;
use tokio::sync::mpsc;
use toolhost::{LogLevel, TurnStart};

/// Records that wait to be sent. Further ones are dropped: the call does not wait for its client.
const QUEUED_MAX: usize = 256;

/// The least severe level that a client of `initialize` gets: `logging/setLevel`. Default: info.
#[derive(Debug, Clone)]
pub(super) struct SessionLevel(Arc<AtomicU8>);

impl Default for SessionLevel {
    fn default() -> Self {
        Self(Arc::new(AtomicU8::new(severity(LoggingLevel::Info))))
    }
}

impl SessionLevel {
    pub(super) fn set(&self, level: LoggingLevel) {
        self.0.store(severity(level), Relaxed);
    }
}

/// What a call logs, for its client.
pub(super) struct CallLogs(Option<mpsc::Receiver<LoggingMessageNotificationParam>>);

impl CallLogs {
    /// Collects what the turn's calls log from `start` on. A client of 2026-07-28 gets records only if the
    /// request asks for them.
    pub(super) fn collect(
        start: TurnStart,
        context: &RequestContext<RoleServer>,
        session: &SessionLevel,
    ) -> (TurnStart, Self) {
        let asked = context.meta.log_level().map(severity);
        let of_session = || {
            let version = context.protocol_version();
            let has_initialized =
                version.is_none_or(|version| version < ProtocolVersion::V_2026_07_28);
            has_initialized.then(|| session.0.load(Relaxed))
        };
        let Some(least) = asked.or_else(of_session) else {
            return (start, Self(None));
        };
        let (sender, receiver) = mpsc::channel(QUEUED_MAX);
        let start = start.with_log(move |record| {
            let level = level_of(record.level);
            if severity(level) >= least {
                let data = json!({ "tool": record.tool_name, "message": record.message });
                let message =
                    LoggingMessageNotificationParam::new(level, data).with_logger(record.context);
                let _is_queued = sender.try_send(message).is_ok();
            }
        });
        (start, Self(Some(receiver)))
    }

    /// Waits for the next record. Waits for ever if there are no more.
    pub(super) async fn next(&mut self) -> LoggingMessageNotificationParam {
        if let Some(receiver) = &mut self.0
            && let Some(message) = receiver.recv().await
        {
            return message;
        }
        self.0 = None;
        std::future::pending().await
    }

    /// Returns a record that waits.
    pub(super) fn waiting(&mut self) -> Option<LoggingMessageNotificationParam> {
        self.0.as_mut()?.try_recv().ok()
    }
}

fn level_of(level: LogLevel) -> LoggingLevel {
    match level {
        LogLevel::Trace | LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Warn => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
        LogLevel::Critical => LoggingLevel::Critical,
    }
}

fn severity(level: LoggingLevel) -> u8 {
    level as u8
}
