//! The methods `events/subscribe` and `events/unsubscribe`.

use serde_json::{Value, json};

use crate::error::RpcError;
use crate::events::EventFilter;
use crate::params::NoParams;
use crate::session::Session;

/// Sends `events/event` and `events/lost` from now on.
pub(super) fn subscribe(session: &Session, filter: EventFilter) -> Result<Value, RpcError> {
    let events = session.config.host.events().subscribe();
    session.subscription.begin(events, filter, &session.answers);
    Ok(json!({}))
}

pub(super) fn unsubscribe(session: &Session, _: NoParams) -> Result<Value, RpcError> {
    session.subscription.end();
    Ok(json!({}))
}
