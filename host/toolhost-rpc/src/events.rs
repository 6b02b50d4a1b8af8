//! The subscription of a connection to the events of its host.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinHandle;
use toolhost::events::{EventStream, Received, RuntimeEvent};

use crate::answers::AnswerQueue;
use crate::message::notification;

/// Selects events: `{"agent"?, "key"?}`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventFilter {
    agent: Option<String>,
    key: Option<String>,
}

impl EventFilter {
    fn selects(&self, event: &RuntimeEvent) -> bool {
        let is = |filter: &Option<String>, value: &str| {
            filter.as_deref().is_none_or(|filter| filter == value)
        };
        is(&self.agent, &event.agent_name) && is(&self.key, &event.instance_key)
    }
}

/// The subscription, at most one; dropping it ends it.
#[derive(Debug, Default)]
pub(crate) struct Subscription(Mutex<Option<Forwarding>>);

#[derive(Debug)]
struct Forwarding(JoinHandle<()>);

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Subscription {
    /// Sends the events that the filter selects, in place of an earlier subscription.
    pub(crate) fn begin(
        &self,
        events: EventStream,
        filter: EventFilter,
        answers: &Arc<AnswerQueue>,
    ) {
        let forwarding = forward(events, filter, Arc::clone(answers));
        self.replace(Some(Forwarding(tokio::spawn(forwarding))));
    }

    pub(crate) fn end(&self) {
        self.replace(None);
    }

    fn replace(&self, forwarding: Option<Forwarding>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = forwarding;
    }
}

/// While the client does not read, the stream drops events and counts them.
async fn forward(mut events: EventStream, filter: EventFilter, answers: Arc<AnswerQueue>) {
    while let Some(item) = events.next().await {
        let line = match item {
            Received::Event(event) if filter.selects(&event) => {
                notification("events/event", &json!(*event))
            }
            Received::Event(_) => continue,
            Received::Lost(count) => notification("events/lost", &json!({"count": count})),
        };
        answers.notify(line).await;
    }
}
