//! One instance: its events one after the other, started when it is needed, started again when it
//! crashed, ended when it is idle.

use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::delivery::Delivered;
use super::dispatch::{Dispatch, Phase};
use super::local::Local;
use super::mailbox::{Entry, Item, Mailbox, Standing};
use super::pending::Answer;
use super::settle::report;
use super::turn::{self, Ended};
use super::worker::Worker;
use super::{AgentSetup, AgentsError, InstanceId, Loss, Undelivered, wire};

/// Runs an instance until it is idle for long, or the orchestrator stops.
pub(super) async fn run(
    dispatch: Arc<Dispatch>,
    setup: Arc<AgentSetup>,
    id: InstanceId,
    mailbox: Arc<Mailbox>,
) {
    let mut instance = Instance {
        phase: dispatch.phase.subscribe(),
        backoff: Backoff::new(&dispatch.config),
        worker: None,
        dispatch,
        setup,
        id,
        mailbox,
    };
    instance.serve().await;
}

struct Instance {
    dispatch: Arc<Dispatch>,
    setup: Arc<AgentSetup>,
    id: InstanceId,
    mailbox: Arc<Mailbox>,
    phase: watch::Receiver<Phase>,
    backoff: Backoff,
    worker: Option<Worker>,
}

/// What came of one delivery.
enum Attempt {
    /// The event is done with.
    Settled,
    /// The instance was lost, and the event is to be delivered again.
    Lost(Loss),
    /// The orchestrator stopped.
    Stopped,
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.mailbox.close();
        self.dispatch.forget(&self.id, &self.mailbox);
    }
}

impl Instance {
    async fn serve(&mut self) {
        loop {
            let idle_after = self.dispatch.config.idle_after;
            let item = tokio::select! {
                biased;
                until = turn::draining(&mut self.phase) => {
                    self.end_worker(until).await;
                    return;
                }
                item = self.mailbox.next() => Some(item),
                () = tokio::time::sleep(idle_after) => None,
            };
            match item {
                Some(Item::Event(entry)) => {
                    let went_on = self.deliver(&entry).await;
                    self.mailbox.rest();
                    if went_on.is_break() {
                        return;
                    }
                }
                Some(Item::Start(started)) => {
                    // Whoever asked may be gone.
                    let _ = started.send(self.worker().map(drop));
                }
                None => {
                    let grace = self.dispatch.config.end_grace;
                    self.end_worker(Instant::now() + grace).await;
                    if self.mailbox.close_if_empty() {
                        return;
                    }
                }
            }
        }
    }

    /// Has an event take its turn, again after each crash; breaks where the orchestrator stops.
    async fn deliver(&mut self, entry: &Entry) -> ControlFlow<()> {
        let mut unread = 0;
        loop {
            let awaited = self.dispatch.pending.is_expected(&entry.event_id);
            if entry.standing == Standing::WhileAwaited && !awaited {
                if let Err(error) = self.dispatch.ledger.withdraw(entry.seq).await {
                    report(
                        &self.id,
                        &entry.event_id,
                        &error,
                        "an event was not withdrawn",
                    );
                }
                return ControlFlow::Continue(());
            }
            let attempt = match self.dispatch.ledger.begin(entry.seq).await {
                Ok(None) => Attempt::Settled,
                Ok(Some(delivered)) => self.attempt(&delivered).await,
                Err(error) => {
                    report(&self.id, &entry.event_id, &error, "an event was not read");
                    unread += 1;
                    self.unread(entry, unread)
                }
            };
            let loss = match attempt {
                Attempt::Settled => return ControlFlow::Continue(()),
                Attempt::Stopped => return ControlFlow::Break(()),
                Attempt::Lost(loss) => loss,
            };
            let pause = self.backoff.pause();
            tracing::warn!(
                target: "toolhost::agents",
                instance = %self.id, event = entry.event_id, %loss, ?pause,
                "an instance was lost and is started again"
            );
            tokio::select! {
                biased;
                _ = turn::draining(&mut self.phase) => return ControlFlow::Break(()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn attempt(&mut self, delivered: &Delivered) -> Attempt {
        let attempts_max = self.dispatch.config.attempts_max;
        let attempt = delivered.attempt;
        // The host itself died in its turn every time: nobody was there to give it up.
        if attempt > attempts_max {
            let failure = self.lost(attempt - 1, Loss::HostEnded);
            return self.settle(delivered, Err(failure), Vec::new()).await;
        }
        let trace_id = delivered.event.trace_id.clone();
        let reach = self.dispatch.config.reach;
        let local = Local::new(&self.dispatch, self.id.clone(), reach, trace_id);
        let target = self.id.agent().to_owned();
        let failed = |error| AgentsError::TurnFailed {
            target,
            error: Box::new(error),
        };
        match self.take_turn(delivered, &local).await {
            Ended::Done(Ok(value)) => {
                self.backoff.reset();
                self.settle(delivered, Ok(value), local.taken()).await
            }
            // A turn that failed may not have seen the responses it took.
            Ended::Done(Err(error)) => {
                self.backoff.reset();
                self.settle(delivered, Err(failed(error)), Vec::new()).await
            }
            Ended::TooLong(error) => {
                self.worker = None;
                self.settle(delivered, Err(failed(error)), Vec::new()).await
            }
            Ended::Lost(loss) => {
                self.worker = None;
                if attempt < attempts_max {
                    return Attempt::Lost(loss);
                }
                let failure = self.lost(attempt, loss);
                self.settle(delivered, Err(failure), Vec::new()).await
            }
            Ended::Stopped => {
                self.worker = None;
                if let Err(error) = self.dispatch.ledger.unbegin(delivered.seq).await {
                    let what = "a delivery that the host ended was counted";
                    report(&self.id, &delivered.event.id, &error, what);
                }
                Attempt::Stopped
            }
        }
    }

    async fn take_turn(&mut self, delivered: &Delivered, local: &Arc<Local>) -> Ended {
        let mut event = delivered.event.clone();
        wire::set_attempt(&mut event, delivered.attempt);
        let deadline = self.dispatch.config.turn_deadline;
        let phase = self.phase.clone();
        match self.worker() {
            Ok(worker) => {
                let turn = worker.turn(event, Arc::clone(local));
                turn::take(worker, turn, deadline, phase).await
            }
            Err(loss) => Ended::Lost(loss),
        }
    }

    async fn settle(&self, delivered: &Delivered, answer: Answer, taken: Vec<String>) -> Attempt {
        let dispatch = &self.dispatch;
        dispatch.settle(&self.id, delivered, answer, taken).await;
        Attempt::Settled
    }

    /// An event that the store does not give: it stays there, and whoever waits is told.
    fn unread(&self, entry: &Entry, times: u32) -> Attempt {
        if times < self.dispatch.config.attempts_max {
            return Attempt::Lost(Loss::Unread);
        }
        let failure = self.lost(times, Loss::Unread);
        self.dispatch.pending.answer(&entry.event_id, Err(failure));
        Attempt::Settled
    }

    fn lost(&self, attempts: u32, loss: Loss) -> AgentsError {
        // What ended a process is for the operator alone.
        let last = loss.to_string();
        let reason = Undelivered::Lost {
            instance: self.id.clone(),
            attempts,
            loss,
        };
        tracing::error!(target: "toolhost::agents", %reason, last, "an event was given up");
        AgentsError::undelivered(self.id.agent(), reason)
    }

    /// What takes the turns, started where it is missing.
    fn worker(&mut self) -> Result<&Worker, Loss> {
        let alive = self.worker.take().filter(Worker::is_alive);
        let worker = match alive {
            Some(worker) => worker,
            None => {
                let results = self.mailbox.results();
                Worker::start(&self.dispatch, &self.setup, &self.id, results)?
            }
        };
        Ok(self.worker.insert(worker))
    }

    async fn end_worker(&mut self, until: Instant) {
        if let Some(worker) = self.worker.take() {
            worker.end(until).await;
        }
    }
}
