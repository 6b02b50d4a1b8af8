//! One instance: takes its events one after the other, starts its worker when one is needed, restarts it
//! after a crash, and ends it when it is idle.

use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::delivery::Delivered;
use super::local_port::LocalPort;
use super::mailbox::{Mailbox, MailboxItem, Obligation, QueuedEvent};
use super::phase::{Phase, draining};
use super::reply_waiters::Reply;
use super::settle::report;
use super::state::OrchestratorState;
use super::time::after;
use super::worker::{TurnEnd, Worker};
use super::{AgentSetup, AgentsError, Loss, Undelivered, wire};

/// Starts the task of an instance, which runs until it is idle or the orchestrator stops. If no task can
/// be started any more, the mailbox is closed.
pub(super) fn start(state: Arc<OrchestratorState>, setup: Arc<AgentSetup>, mailbox: Arc<Mailbox>) {
    let (tasks, opened) = (Arc::clone(&state), Arc::clone(&mailbox));
    let started = tasks.tasks.spawn(async move {
        // Made in the task: its drop locks the instances, which the caller of `start` has locked.
        let mut instance = Instance {
            phase: state.phase.subscribe(),
            restarts: 0,
            worker: None,
            state,
            setup,
            mailbox,
        };
        instance.run().await;
    });
    if !started {
        opened.close();
    }
}

struct Instance {
    state: Arc<OrchestratorState>,
    setup: Arc<AgentSetup>,
    mailbox: Arc<Mailbox>,
    phase: watch::Receiver<Phase>,
    /// Restarts since a turn ended.
    restarts: u32,
    worker: Option<Worker>,
}

/// The outcome of one delivery.
enum Attempt {
    /// The event was handled.
    Settled,
    /// The instance was lost, and the event is to be delivered again.
    Lost(Loss),
    /// The orchestrator stopped.
    Stopped,
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.mailbox.close();
        self.state.forget(&self.mailbox);
    }
}

impl Instance {
    async fn run(&mut self) {
        loop {
            let idle_after = self.state.config.idle_after;
            let item = tokio::select! {
                biased;
                until = draining(&mut self.phase) => {
                    self.end_worker(until).await;
                    return;
                }
                item = self.mailbox.next() => Some(item),
                () = tokio::time::sleep(idle_after) => None,
            };
            match item {
                Some(MailboxItem::Event(entry)) => {
                    let delivered = self.deliver(&entry).await;
                    self.mailbox.set_idle();
                    if delivered.is_break() {
                        return;
                    }
                }
                Some(MailboxItem::Start(started)) => {
                    // The caller may have been dropped.
                    let _ = started.send(self.worker().map(drop));
                }
                None => {
                    let grace = self.state.config.end_grace;
                    self.end_worker(after(Instant::now(), grace)).await;
                    if self.mailbox.close_if_empty() {
                        return;
                    }
                }
            }
        }
    }

    /// Delivers an event, again after each crash. Breaks if the orchestrator stops.
    async fn deliver(&mut self, entry: &QueuedEvent) -> ControlFlow<()> {
        let (state, id) = (Arc::clone(&self.state), self.mailbox.id.clone());
        let mut failed_reads = state.failures(&id, &entry.event_id, "an event was not read");
        loop {
            let awaited = self.state.reply_waiters.is_expected(&entry.event_id);
            if entry.obligation == Obligation::WhileAwaited && !awaited {
                let (of, id) = (&self.mailbox.id, &*entry.event_id);
                return if self.state.withdraw_stored(of, id, entry.seq).await {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                };
            }
            let attempt = match self.state.event_store.begin(entry.seq).await {
                Ok(None) => Attempt::Settled,
                Ok(Some(delivered)) => self.attempt(&delivered).await,
                Err(error) => {
                    failed_reads.add(&error);
                    self.fail_request(entry, failed_reads.count);
                    let attempts_max = self.state.config.attempts_max;
                    if error.is_unreadable_row() && failed_reads.count >= attempts_max {
                        // It stays in the store. Reading it again cannot help.
                        Attempt::Settled
                    } else if failed_reads.pause().await {
                        continue;
                    } else {
                        Attempt::Stopped
                    }
                }
            };
            let loss = match attempt {
                Attempt::Settled => return ControlFlow::Continue(()),
                Attempt::Stopped => return ControlFlow::Break(()),
                Attempt::Lost(loss) => loss,
            };
            let pause = self.state.config.backoff(self.restarts);
            self.restarts = self.restarts.saturating_add(1);
            tracing::warn!(
                target: "toolhost::agents",
                instance = %self.mailbox.id, event = entry.event_id, %loss, ?pause,
                "an instance was lost and is started again"
            );
            tokio::select! {
                biased;
                _ = draining(&mut self.phase) => return ControlFlow::Break(()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn attempt(&mut self, delivered: &Delivered) -> Attempt {
        let attempts_max = self.state.config.attempts_max;
        let attempt = delivered.attempt;
        // The host died during each of the earlier turns, before it could settle the event.
        if attempt > attempts_max {
            let failure = self.lost(attempt - 1, Loss::HostEnded);
            return self.settle(delivered, Err(failure), Vec::new()).await;
        }
        let local = self.local(delivered.event.trace_id.clone());
        let failed = |error| AgentsError::TurnFailed {
            target: local.from().agent().to_owned(),
            error: Box::new(error),
        };
        // The responses that a failed turn took stay unacknowledged.
        let (reply, taken_ids) = match self.take_turn(delivered, &local).await {
            TurnEnd::Done(result) => {
                self.restarts = 0;
                let taken_ids = result.is_ok().then(|| local.taken());
                (result.map_err(failed), taken_ids.unwrap_or_default())
            }
            TurnEnd::TooLong(error) => {
                self.worker = None;
                (Err(failed(error)), Vec::new())
            }
            TurnEnd::Lost(loss) => {
                self.worker = None;
                if attempt < attempts_max {
                    return Attempt::Lost(loss);
                }
                (Err(self.lost(attempt, loss)), Vec::new())
            }
            TurnEnd::Stopped => {
                self.worker = None;
                if let Err(error) = self.state.event_store.undo_begin(delivered.seq).await {
                    let what = "a delivery that the host ended was counted";
                    self.report(&delivered.event.id, &error, what);
                }
                return Attempt::Stopped;
            }
        };
        self.settle(delivered, reply, taken_ids).await
    }

    async fn take_turn(&mut self, delivered: &Delivered, local: &Arc<LocalPort>) -> TurnEnd {
        let mut event = delivered.event.clone();
        wire::set_attempt(&mut event, delivered.attempt);
        let deadline = self.state.config.turn_deadline;
        let phase = self.phase.clone();
        match self.worker() {
            Ok(worker) => worker.take_turn(event, local, deadline, phase).await,
            Err(loss) => TurnEnd::Lost(loss),
        }
    }

    async fn settle(&self, delivered: &Delivered, reply: Reply, taken: Vec<String>) -> Attempt {
        let by = &self.mailbox.id;
        self.state.settle(by, delivered, reply, taken).await;
        Attempt::Settled
    }

    /// Fails the request that waits for an event, after as many failed reads as an event has deliveries.
    fn fail_request(&self, entry: &QueuedEvent, failed_reads: u32) {
        let waiters = &self.state.reply_waiters;
        if failed_reads == self.state.config.attempts_max && waiters.is_expected(&entry.event_id) {
            let failure = self.lost(failed_reads, Loss::Unread);
            // It may have timed out meanwhile.
            let _is_received = waiters.reply(&entry.event_id, Err(failure));
        }
    }

    fn lost(&self, attempts: u32, loss: Loss) -> AgentsError {
        // The error that others read does not contain how a process ended: the log does.
        let last = loss.to_string();
        let reason = Undelivered::Lost {
            instance: self.mailbox.id.clone(),
            attempts,
            loss,
        };
        tracing::error!(target: "toolhost::agents", %reason, last, "an event was given up");
        AgentsError::undelivered(self.mailbox.id.agent(), reason)
    }

    fn local(&self, trace_id: Option<String>) -> Arc<LocalPort> {
        let reach = self.state.config.reach;
        LocalPort::new(&self.state, self.mailbox.id.clone(), reach, trace_id)
    }

    /// Returns the worker, started if it is missing.
    fn worker(&mut self) -> Result<&Worker, Loss> {
        let worker = match self.worker.take().filter(Worker::is_alive) {
            Some(worker) => worker,
            None => {
                let results = Arc::clone(&self.mailbox.results);
                Worker::start(&self.setup.start, self.local(None), results)?
            }
        };
        Ok(self.worker.insert(worker))
    }

    async fn end_worker(&mut self, until: Instant) {
        if let Some(worker) = self.worker.take() {
            worker.end(until).await;
        }
    }

    fn report(&self, event_id: &str, error: &dyn std::fmt::Display, what: &str) {
        report(&self.mailbox.id, event_id, error, what);
    }
}
