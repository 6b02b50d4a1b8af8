//! The way to the orchestrator within its own process.

mod port;

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use toolhost_contract::{AgentEvent, EventSource};

use toolhost_contract::Timestamp;
use toolhost_store::StoreError;

use super::delivery::{Asker, Envelope, ReplyMode};
use super::dispatch::Dispatch;
use super::ledger::Stored;
use super::pending::Answer;
use super::{AgentsError, Delivery, InstanceId, Reach, Undelivered, lock, wire};

/// Bytes of answers that are given at once; the rest comes the next time.
const GIVEN_AT_ONCE: usize = 512 << 10;

/// One instance among the others, for one turn or for longer.
#[derive(Debug)]
pub(super) struct Local {
    /// It ends with the orchestrator, and does not keep it.
    dispatch: Weak<Dispatch>,
    clock: fn() -> SystemTime,
    from: InstanceId,
    reach: Reach,
    trace_id: Option<String>,
    /// Correlation ids of the responses that were taken and not acknowledged.
    taken: Mutex<Vec<String>>,
}

impl Local {
    pub(super) fn new(
        dispatch: &Arc<Dispatch>,
        from: InstanceId,
        reach: Reach,
        trace_id: Option<String>,
    ) -> Arc<Self> {
        Arc::new(Self {
            reach,
            dispatch: Arc::downgrade(dispatch),
            clock: dispatch.config.clock,
            from,
            trace_id,
            taken: Mutex::default(),
        })
    }

    pub(super) fn from(&self) -> &InstanceId {
        &self.from
    }

    /// What time it is, as events say it.
    pub(super) fn now(&self) -> String {
        Timestamp((self.clock)()).to_string()
    }

    /// The responses that were taken and not acknowledged.
    pub(super) fn taken(&self) -> Vec<String> {
        lock(&self.taken).clone()
    }

    /// The results of delegations that are kept, some of them, oldest first.
    pub(super) async fn results(&self) -> Result<Vec<Stored>, AgentsError> {
        self.kept(ReplyMode::Delegate, Vec::new()).await
    }

    /// Answers that are kept and not among the known, as many as are given at once.
    async fn kept(&self, mode: ReplyMode, known: Vec<String>) -> Result<Vec<Stored>, AgentsError> {
        let dispatch = self.dispatch(self.from.agent())?;
        let ledger = &dispatch.ledger;
        let kept = ledger.responses(&self.from, mode, known, GIVEN_AT_ONCE);
        kept.await.map_err(|error| self.unstored(error))
    }

    /// Removes answers that were kept.
    pub(super) async fn acknowledge(&self, ids: Vec<String>) -> Result<(), AgentsError> {
        let dispatch = self.dispatch(self.from.agent())?;
        let done = dispatch.ledger.acknowledge(&self.from, ids);
        done.await.map_err(|error| self.unstored(error))
    }

    /// Asks and waits.
    pub(super) async fn ask(&self, target: &str, event: AgentEvent, timeout: Duration) -> Answer {
        let envelope = self.envelope(target, event, Some(ReplyMode::Wait))?;
        let dispatch = self.dispatch(target)?;
        dispatch.ask(&self.from, envelope, timeout).await
    }

    /// Has an event accepted; its answer, where one is wanted, is kept.
    pub(super) async fn submit(
        &self,
        target: &str,
        event: AgentEvent,
        mode: Option<ReplyMode>,
    ) -> Result<(), AgentsError> {
        let envelope = self.envelope(target, event, mode)?;
        match self.dispatch(target)?.accept(envelope).await? {
            Delivery::Accepted => Ok(()),
            Delivery::Duplicate => Err(AgentsError::undelivered(target, Undelivered::Duplicate)),
        }
    }

    /// The event is this instance's, whatever it says.
    fn envelope(
        &self,
        target: &str,
        mut event: AgentEvent,
        mode: Option<ReplyMode>,
    ) -> Result<Envelope, AgentsError> {
        event.source = EventSource::agent(self.from.agent());
        event.trace_id = event.trace_id.or_else(|| self.trace_id.clone());
        if let Some(metadata) = &mut event.metadata {
            metadata.shift_remove(wire::DELIVERY);
            metadata.shift_remove(wire::ATTEMPT);
        }
        if let Some(reply_to) = &mut event.reply_to {
            self.from.agent().clone_into(&mut reply_to.target);
        }
        let to = self.instance(target, event.instance_key.as_deref())?;
        let asker = mode.map(|mode| Asker {
            instance: self.from.clone(),
            mode,
        });
        Ok(Envelope { event, to, asker })
    }

    fn dispatch(&self, target: &str) -> Result<Arc<Dispatch>, AgentsError> {
        let gone = || AgentsError::undelivered(target, Undelivered::Stopped);
        self.dispatch.upgrade().ok_or_else(gone)
    }

    fn instance(&self, target: &str, key: Option<&str>) -> Result<InstanceId, AgentsError> {
        let instance = InstanceId::new(target, key.unwrap_or(self.from.key()));
        if self.reaches(&instance) {
            return Ok(instance);
        }
        let reason = Undelivered::OutOfReach { instance };
        Err(AgentsError::undelivered(target, reason))
    }

    /// Whether it may speak to an instance.
    fn reaches(&self, instance: &InstanceId) -> bool {
        match self.reach {
            Reach::Any => true,
            Reach::OwnKey => {
                let beyond = instance.key().strip_prefix(self.from.key());
                beyond.is_some_and(|beyond| beyond.is_empty() || beyond.starts_with('/'))
            }
        }
    }

    fn unstored(&self, error: StoreError) -> AgentsError {
        AgentsError::undelivered(self.from.agent(), Undelivered::NotStored(error.into()))
    }
}
