//! An instance in a process of its own.

mod answer;
mod inbound;
mod link;
mod pump;

use std::process::Stdio;
use std::sync::Arc;

use serde_json::json;
use tokio::process::Command;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolhost_contract::{AgentEvent, IpcBody, IpcMessage};

use super::local::Local;
use super::worker::Turn;
use super::{ProcessSetup, Undelivered, wire};

use self::link::{Current, Link};
use self::pump::Body;

/// Lines that wait for a process to read them.
const LINES: usize = 64;

/// A process that takes the turns of one instance. Dropped, it is killed with all that is in its
/// process group.
#[derive(Debug)]
pub(super) struct Process {
    link: Arc<Link>,
    /// Reads and writes its streams, and holds the process itself.
    _tasks: JoinSet<()>,
}

impl Process {
    /// Starts the process of the instance that `local` speaks for, which is told the results of its
    /// delegations whenever `results` says that there are some.
    pub(super) fn start(
        setup: &ProcessSetup,
        local: Arc<Local>,
        results: Arc<Notify>,
    ) -> std::io::Result<Self> {
        let mut child = Command::new(&setup.program)
            .args(&setup.args)
            .env_clear()
            .envs(&setup.env)
            .current_dir(&setup.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let body = Body::new(child);
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        let (out, lines) = mpsc::channel(LINES);
        let link = Arc::new(Link::new(body.pid(), out, local));
        let mut tasks = JoinSet::new();
        tasks.spawn(pump::write(stdin, lines));
        tasks.spawn(answer::keep_telling_results(Arc::clone(&link), results));
        tasks.spawn(pump::log(stderr, Arc::clone(&link)));
        tasks.spawn(pump::read(stdout, body, Arc::clone(&link)));
        Ok(Self {
            link,
            _tasks: tasks,
        })
    }

    /// Has the process take a turn: tells it the event, and waits for what it says came of it.
    pub(super) fn turn(&self, event: AgentEvent, local: Arc<Local>) -> Turn {
        let link = Arc::clone(&self.link);
        Box::pin(async move {
            let (current, done) = Current::of(&event, local);
            let from = match event.source.kind.as_str() {
                "agent" => event.source.name.clone(),
                _ => wire::ORCHESTRATOR.to_owned(),
            };
            let message = IpcMessage::event(from, link.agent(), event);
            let _turn = link.begin(current)?;
            // Where the process is gone, what ended it is known in a moment.
            if let Err(error @ Undelivered::Malformed(_)) = link.tell(&message).await {
                return Ok(Err(wire::host_ended_turn(error.to_string())));
            }
            match done.await {
                Ok(said) => Ok(said),
                Err(_) => Err(link.loss()),
            }
        })
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.link.has_ended()
    }

    /// Asks the process to end, once.
    pub(super) fn announce_shutdown(&self, until: Instant) {
        let grace = until.saturating_duration_since(Instant::now());
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.link.announce_shutdown(&IpcMessage {
            from: wire::ORCHESTRATOR.to_owned(),
            to: self.link.agent().to_owned(),
            body: IpcBody::Shutdown(json!({"graceMs": grace_ms})),
        });
    }

    /// Asks the process to end, and kills it where it has not by then.
    pub(super) async fn end(self, until: Instant) {
        self.announce_shutdown(until);
        if tokio::time::timeout_at(until, self.link.ended())
            .await
            .is_err()
        {
            tracing::warn!(
                target: "toolhost::agents",
                instance = %self.link.instance(), pid = self.link.pid(),
                "a process did not end when it was asked to, and is killed"
            );
        }
    }
}
