//! The connection of an instance to the orchestrator in this process.

mod operations;

use std::sync::{Arc, Mutex, Weak};
use std::time::SystemTime;

use toolhost_contract::{AgentEvent, EventSource, Timestamp};
use toolhost_runtime::lock;
use toolhost_store::StoreError;

use super::delivery::{Asker, Envelope, ReplyMode};
use super::state::OrchestratorState;
use super::{AgentsError, Delivery, InstanceId, Reach, Undelivered, wire};

/// Bytes of the responses that one call returns; the next call returns more.
const BATCH_BYTES: usize = 512 << 10;

/// What an instance may do with the others, in one turn or outside of turns.
#[derive(Debug)]
pub(super) struct LocalPort {
    /// Weak: it does not keep the orchestrator.
    state: Weak<OrchestratorState>,
    clock: fn() -> SystemTime,
    from: InstanceId,
    reach: Reach,
    trace_id: Option<String>,
    taken: Mutex<Taken>,
}

/// The responses that were taken and not acknowledged, by their correlation ids.
#[derive(Debug, Default)]
struct Taken {
    ids: Vec<String>,
    /// If the turn has ended and not all of them arrived in it: those that did.
    received: Option<Vec<String>>,
}

impl LocalPort {
    pub(super) fn new(
        state: &Arc<OrchestratorState>,
        from: InstanceId,
        reach: Reach,
        trace_id: Option<String>,
    ) -> Arc<Self> {
        Arc::new(Self {
            reach,
            state: Arc::downgrade(state),
            clock: state.config.clock,
            from,
            trace_id,
            taken: Mutex::default(),
        })
    }

    pub(super) fn from(&self) -> &InstanceId {
        &self.from
    }

    /// The current time as events contain it.
    pub(super) fn now(&self) -> String {
        Timestamp((self.clock)()).to_string()
    }

    /// Returns the correlation ids of the responses that were taken and not acknowledged.
    pub(super) fn taken(&self) -> Vec<String> {
        let taking = lock(&self.taken);
        let arrived = |id: &&String| taking.received.as_ref().is_none_or(|all| all.contains(id));
        taking.ids.iter().filter(arrived).cloned().collect()
    }

    /// Notes that of the responses that were taken so far only these arrived: the others can be taken again.
    pub(super) fn put_back_all_but(&self, ids: &[String]) {
        lock(&self.taken).ids.retain(|id| ids.contains(id));
    }

    /// Notes that of all responses that this turn takes only these arrive, whatever is still under way.
    pub(super) fn end_with(&self, received: Vec<String>) {
        lock(&self.taken).received = Some(received);
    }

    /// Returns the oldest stored responses but the known ones, by their correlation ids.
    pub(super) async fn load_responses(
        &self,
        mode: ReplyMode,
        known_ids: Vec<String>,
    ) -> Result<Vec<(String, AgentEvent)>, AgentsError> {
        let state = self.state(self.from.agent())?;
        let event_store = &state.event_store;
        let responses = event_store.responses(&self.from, mode, known_ids, BATCH_BYTES);
        responses.await.map_err(|error| self.not_stored(error))
    }

    pub(super) async fn acknowledge(&self, ids: Vec<String>) -> Result<(), AgentsError> {
        let state = self.state(self.from.agent())?;
        let result = state.event_store.acknowledge(&self.from, ids);
        result.await.map_err(|error| self.not_stored(error))
    }

    /// Has an event accepted. The answer, if `mode` requests one, is stored.
    pub(super) async fn accept(
        &self,
        target: &str,
        event: AgentEvent,
        mode: Option<ReplyMode>,
    ) -> Result<(), AgentsError> {
        let envelope = self.envelope(target, event, mode)?;
        match self.state(target)?.accept(envelope).await? {
            Delivery::Accepted => Ok(()),
            Delivery::Duplicate => Err(AgentsError::undelivered(target, Undelivered::Duplicate)),
        }
    }

    /// Addresses an event. Its source is always this instance.
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

    fn state(&self, target: &str) -> Result<Arc<OrchestratorState>, AgentsError> {
        let gone = || AgentsError::undelivered(target, Undelivered::Stopped);
        self.state.upgrade().ok_or_else(gone)
    }

    fn instance(&self, target: &str, key: Option<&str>) -> Result<InstanceId, AgentsError> {
        let instance = InstanceId::new(target, key.unwrap_or(self.from.key()));
        if self.reaches(&instance) {
            return Ok(instance);
        }
        let reason = Undelivered::OutOfReach(instance);
        Err(AgentsError::undelivered(target, reason))
    }

    /// Whether it may send events to an instance.
    fn reaches(&self, instance: &InstanceId) -> bool {
        match self.reach {
            Reach::Any => true,
            Reach::OwnKey => {
                let rest = instance.key().strip_prefix(self.from.key());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }

    fn not_stored(&self, error: StoreError) -> AgentsError {
        AgentsError::undelivered(self.from.agent(), Undelivered::NotStored(error.into()))
    }
}
