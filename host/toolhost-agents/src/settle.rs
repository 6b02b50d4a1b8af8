//! The end of a turn: first in the store, then for the one who waits.

use std::fmt;
use std::time::Duration;

use toolhost_contract::AgentEvent;

use super::delivery::{Asker, Delivered, Kept, ReplyMode};
use super::dispatch::{Dispatch, new_id};
use super::ledger::Settled;
use super::pending::Answer;
use super::{InstanceId, lock, wire};
use toolhost_contract::text;

/// How often the end of a turn is stored where that fails, and how long between.
const STORE: (u32, Duration) = (3, Duration::from_secs(1));

/// Longest failure in a log, in characters: an agent's own may be a megabyte.
const FAILURE_SHOWN: usize = 4 << 10;

impl Dispatch {
    /// Closes a turn of `by`: its event is handled, its answer kept or given, and the answers it took
    /// are acknowledged.
    pub(super) async fn settle(
        &self,
        by: &InstanceId,
        delivered: &Delivered,
        answer: Answer,
        taken: Vec<String>,
    ) {
        let event_id = &delivered.event.id;
        let kept = self.kept(by, delivered, &answer);
        let keeper = kept.as_ref().map(|(asker, _)| asker.clone());
        let settled = Settled {
            seq: delivered.seq,
            event_id: event_id.clone(),
            kept,
            now_ms: self.now_ms(),
            taken: (by.clone(), taken),
        };
        let (times, pause) = STORE;
        for _ in 0..times {
            // The database may be another process's for a while.
            match self.ledger.settle(settled.clone()).await {
                Ok(_) => break,
                Err(error) => report(by, event_id, &error, "the end of a turn was not stored"),
            }
            tokio::time::sleep(pause).await;
        }
        match keeper.map(|asker| (asker.mode, asker.instance)) {
            Some((ReplyMode::Delegate, asker)) => {
                if let Some(mailbox) = lock(&self.instances).get(&asker) {
                    mailbox.results().notify_one();
                }
            }
            Some((ReplyMode::Async | ReplyMode::Wait, _)) => {}
            None => self.answer(by, delivered, answer),
        }
    }

    fn answer(&self, by: &InstanceId, delivered: &Delivered, answer: Answer) {
        let event_id = &delivered.event.id;
        let failure = answer.as_ref().err();
        let failure = failure.map(|error| text::shorten(&error.to_string(), FAILURE_SHOWN));
        if self.pending.answer(event_id, answer) {
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
                "a turn failed, and nobody waits for it"
            );
        }
    }

    /// The answer as an event, where it is kept.
    fn kept(
        &self,
        by: &InstanceId,
        delivered: &Delivered,
        answer: &Answer,
    ) -> Option<(Asker, Kept)> {
        let asker = delivered.asker.clone()?;
        match asker.mode {
            ReplyMode::Wait => return None,
            ReplyMode::Async | ReplyMode::Delegate => {}
        }
        let event = self.response(by, delivered, answer)?;
        let correlation_id = event.in_reply_to()?.to_owned();
        let kept = Kept {
            correlation_id,
            event,
        };
        Some((asker, kept))
    }

    fn response(
        &self,
        by: &InstanceId,
        delivered: &Delivered,
        answer: &Answer,
    ) -> Option<AgentEvent> {
        let id = match new_id() {
            Ok(id) => id,
            Err(error) => {
                report(by, &delivered.event.id, &error, "an answer got no id");
                return None;
            }
        };
        let answer = match answer {
            Ok(value) => Ok(value.clone()),
            Err(failure) => Err(wire::failure_to_json(failure)),
        };
        delivered.response(id, self.now(), by, answer)
    }
}

/// Logs what went wrong with an event.
pub(super) fn report(of: &InstanceId, event_id: &str, error: &dyn fmt::Display, what: &str) {
    tracing::error!(target: "toolhost::agents", instance = %of, event = event_id, %error, "{what}");
}
