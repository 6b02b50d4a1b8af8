//! The end of a turn: stored first, then given to the requester.

use std::fmt;

use toolhost_contract::{AgentEvent, EventSource, text};
use toolhost_runtime::lock;

use super::delivery::{Asker, Delivered, ReplyMode};
use super::event_store::Settled;
use super::ids::new_id;
use super::reply_waiters::Reply;
use super::state::OrchestratorState;
use super::{InstanceId, wire};

/// Failures to store the end of a turn after which a requester that waits gets the answer all the same.
const FAILURES_BEFORE_REPLY: u32 = 3;

/// Longest failure in a log, in characters: an agent's own message may have a megabyte.
const FAILURE_CHARS_MAX: usize = 4 << 10;

impl OrchestratorState {
    /// Closes a turn of `by`: marks its event as handled, stores or gives the reply, and acknowledges the
    /// responses that the turn took. While the store fails, it is tried again; if the orchestrator stops
    /// before, the event is delivered again at the next start.
    pub(super) async fn settle(
        &self,
        by: &InstanceId,
        delivered: &Delivered,
        reply: Reply,
        taken: Vec<String>,
    ) {
        let event_id = &delivered.event.id;
        let response = self.stored_response(by, delivered, &reply);
        let asker = response.as_ref().map(|(asker, _)| asker.clone());
        let settled = Settled {
            seq: delivered.seq,
            event_id: event_id.clone(),
            response,
            now_ms: self.now_ms(),
            taken: (by.clone(), taken),
        };
        let mut unanswered = match asker {
            Some(_) => None,
            None => Some(reply),
        };
        let mut failures = self.failures(by, event_id, "the end of a turn was not stored");
        while let Err(error) = self.event_store.settle(settled.clone()).await {
            failures.add(&error);
            if failures.count == FAILURES_BEFORE_REPLY
                && let Some(reply) = unanswered.take()
            {
                self.reply(by, delivered, reply);
            }
            if !failures.pause().await {
                break;
            }
        }
        if let Some(reply) = unanswered {
            return self.reply(by, delivered, reply);
        }
        if let Some(asker) = asker
            && asker.mode == ReplyMode::Delegate
            && let Some(mailbox) = lock(&self.instances).get(&asker.instance)
        {
            mailbox.results.notify_one();
        }
    }

    fn reply(&self, by: &InstanceId, delivered: &Delivered, reply: Reply) {
        let event_id = &delivered.event.id;
        let failure = reply.as_ref().err();
        let failure = failure.map(|error| text::shorten(&error.to_string(), FAILURE_CHARS_MAX));
        if self.reply_waiters.reply(event_id, reply) {
            return;
        }
        if delivered.asker.is_some() {
            tracing::info!(
                target: "toolhost::agents", instance = %by, event = event_id, failure,
                "an answer came late and was dropped"
            );
        } else if let Some(failure) = failure {
            tracing::warn!(
                target: "toolhost::agents", instance = %by, event = event_id, failure,
                "a turn failed that no request waits for"
            );
        }
    }

    /// Returns the reply as an event, if it is to be stored, and for whom.
    fn stored_response(
        &self,
        by: &InstanceId,
        delivered: &Delivered,
        reply: &Reply,
    ) -> Option<(Asker, AgentEvent)> {
        let asker = delivered.asker.clone()?;
        if asker.mode == ReplyMode::Wait {
            return None;
        }
        let no_id = "no id could be made for an answer";
        let id = new_id().inspect_err(|error| report(by, &delivered.event.id, error, no_id));
        let answer = match reply {
            Ok(value) => Ok(value.clone()),
            Err(failure) => Err(wire::failure_to_json(failure)),
        };
        let source = EventSource::agent(by.agent());
        let event = &delivered.event;
        let mut response = event.response(id.ok()?, self.now(), source, answer)?;
        response.instance_key = Some(asker.instance.key().to_owned());
        Some((asker, response))
    }
}

/// Logs a failure to process an event.
pub(super) fn report(of: &InstanceId, event_id: &str, error: &dyn fmt::Display, what: &str) {
    tracing::error!(target: "toolhost::agents", instance = %of, event = event_id, %error, "{what}");
}
