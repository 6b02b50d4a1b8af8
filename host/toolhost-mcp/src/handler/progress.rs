//! Progress of a call, for clients that ask for it.

use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use tokio::time::{Interval, MissedTickBehavior, interval_at};
use toolhost::Agent;

/// The progress of a call that runs: the seconds since its start. The total is not known.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    token: ProgressToken,
    started: Instant,
}

impl Progress {
    /// Returns the progress of a call that starts now. None if the client did not ask for it.
    pub(super) fn start(context: &RequestContext<RoleServer>) -> Option<Self> {
        Some(Self {
            token: context.meta.get_progress_token()?,
            started: Instant::now(),
        })
    }

    pub(super) fn now(&self, message: impl Into<String>) -> ProgressNotificationParam {
        let seconds = self.started.elapsed().as_secs_f64();
        ProgressNotificationParam::new(self.token.clone(), seconds).with_message(message)
    }

    fn doing(&self, what: &str) -> ProgressNotificationParam {
        let seconds = self.started.elapsed().as_secs_f64();
        self.now(format!("{what} for {seconds:.0} s"))
    }
}

/// Reports progress in each interval.
pub(super) struct Ticks<'a> {
    progress: Option<&'a Progress>,
    interval: Interval,
    agent: &'a Agent,
    tool: &'a str,
}

impl<'a> Ticks<'a> {
    /// Those of a call of this tool.
    pub(super) fn new(
        progress: Option<&'a Progress>,
        period: Duration,
        agent: &'a Agent,
        tool: &'a str,
    ) -> Self {
        let period = period.max(Duration::from_millis(1));
        let mut interval = interval_at(tokio::time::Instant::now() + period, period);
        interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self {
            progress,
            interval,
            agent,
            tool,
        }
    }

    /// Waits for the next interval. Waits for ever if the client did not ask for progress.
    pub(super) async fn next(&mut self) -> ProgressNotificationParam {
        let Some(progress) = self.progress else {
            return std::future::pending().await;
        };
        self.interval.tick().await;
        progress.doing(if self.agent.tool_is_compiling(self.tool) {
            "compiling the tool"
        } else {
            "running"
        })
    }
}
