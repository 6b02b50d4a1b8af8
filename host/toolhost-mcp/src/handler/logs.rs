//! Forwards what a call logs to its client, while it runs: as log messages, and as progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::json;
use tokio::sync::mpsc;
use toolhost::{TurnStart, sandbox::LogLevel, tool::CallLogRecord};

use super::progress::Progress;

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
pub(super) struct CallLogs(Option<mpsc::Receiver<Notifications>>);

/// The notifications of one record.
#[derive(Default)]
pub(super) struct Notifications {
    log: Option<LoggingMessageNotificationParam>,
    progress: Option<ProgressNotificationParam>,
}

impl Notifications {
    /// The log message is for clients that want this level. The progress is for those that asked for it,
    /// with the records from level info on.
    fn of_record(
        record: &CallLogRecord<'_>,
        least: Option<u8>,
        progress: Option<&Progress>,
    ) -> Option<Self> {
        let level = level_of(record.level);
        let reaches = |least| severity(level) >= least;
        let log = least.is_some_and(reaches).then(|| {
            let data = json!({ "tool": record.tool_name, "message": record.message });
            LoggingMessageNotificationParam::new(level, data).with_logger(record.context)
        });
        let progress = progress.filter(|_| reaches(severity(LoggingLevel::Info)));
        let progress = progress.map(|progress| progress.now(record.message));
        (log.is_some() || progress.is_some()).then_some(Self { log, progress })
    }

    /// Sends them. What cannot be sent is dropped: the request of a client that is gone is cancelled.
    pub(super) async fn send(self, peer: &Peer<RoleServer>) {
        if let Some(log) = self.log {
            let _is_sent = peer.notify_logging_message(log).await.is_ok();
        }
        if let Some(progress) = self.progress {
            let _is_sent = peer.notify_progress(progress).await.is_ok();
        }
    }
}

impl CallLogs {
    /// Collects what the turn's calls log from `start` on. A client of 2026-07-28 gets log messages only if
    /// the request asks for them.
    pub(super) fn collect(
        start: TurnStart,
        context: &RequestContext<RoleServer>,
        session: &SessionLevel,
        progress: Option<&Progress>,
    ) -> (TurnStart, Self) {
        let level = context.meta.log_level().map(severity);
        let of_session = || {
            let version = context.protocol_version();
            let has_initialized =
                version.is_none_or(|version| version < ProtocolVersion::V_2026_07_28);
            has_initialized.then(|| session.0.load(Relaxed))
        };
        let least = level.or_else(of_session);
        if least.is_none() && progress.is_none() {
            return (start, Self(None));
        }
        let progress = progress.cloned();
        let (sender, receiver) = mpsc::channel(QUEUED_MAX);
        let start = start.with_log(move |record| {
            if let Some(notifications) = Notifications::of_record(record, least, progress.as_ref())
            {
                let _is_queued = sender.try_send(notifications).is_ok();
            }
        });
        (start, Self(Some(receiver)))
    }

    /// Waits for the next record. Waits for ever if there are no more.
    pub(super) async fn next(&mut self) -> Notifications {
        if let Some(receiver) = &mut self.0
            && let Some(record) = receiver.recv().await
        {
            return record;
        }
        self.0 = None;
        std::future::pending().await
    }

    /// Returns a record that waits.
    pub(super) fn try_next(&mut self) -> Option<Notifications> {
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
