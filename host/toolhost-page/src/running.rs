//! The calls of this process that run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolhost::Host;
use toolhost::events::{EventKind, Received, RuntimeEvent, SpanId};
use toolhost_runtime::lock;

/// Most calls that are remembered.
const CALLS_MAX: usize = 10_000;

/// Most calls that are shown.
const SHOWN_MAX: usize = 200;

type Calls = Arc<Mutex<HashMap<SpanId, Arc<RuntimeEvent>>>>;

/// Follows the events of a host, until it is dropped.
pub(crate) struct Running {
    calls: Calls,
    host: Host,
    follows: JoinHandle<()>,
}

impl Running {
    pub(crate) fn follow(host: &Host) -> Self {
        let calls = Calls::default();
        let (kept, mut events) = (Arc::clone(&calls), host.events().subscribe());
        let follows = tokio::spawn(async move {
            while let Some(received) = events.next().await {
                let mut calls = lock(&kept);
                match received {
                    Received::Event(event) => {
                        use EventKind::{ToolCalled, ToolCompleted, ToolFailed, ToolPending};
                        let id = event.trace.span_id();
                        if event.kind == ToolCalled && calls.len() < CALLS_MAX {
                            calls.insert(id, event);
                        } else if matches!(event.kind, ToolCompleted | ToolFailed | ToolPending) {
                            calls.remove(&id);
                        }
                    }
                    // The ends of some may be among them.
                    Received::Lost(_) => calls.clear(),
                }
            }
        });
        Self {
            calls,
            host: host.clone(),
            follows,
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut calls: Vec<_> = lock(&self.calls).values().cloned().collect();
        calls.sort_by_key(|event| event.timestamp.0);
        let count = calls.len();
        let calls = calls.iter().take(SHOWN_MAX).map(|event| {
            json!({
                "agent": event.agent_name.as_ref(),
                "instance": event.instance_key.as_ref(),
                "turn": event.turn_id.as_ref(),
                "callId": event.tool_call_id.as_deref(),
                "tool": event.tool_name.as_deref(),
                "since": event.timestamp,
            })
        });
        let sandbox = self.host.sandbox();
        json!({
            "calls": calls.collect::<Vec<_>>(),
            "gauges": {
                "running": count,
                "waiting": sandbox.waiting_calls(),
                "slots": sandbox.free_call_slots(),
                "memoryBytes": sandbox.memory_in_use(),
            },
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.follows.abort();
    }
}
