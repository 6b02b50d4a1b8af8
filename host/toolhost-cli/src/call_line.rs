//! A call on one line.

use std::fmt;

use toolhost::ToolStatus;
use toolhost::calls::{CallKind, CallRecord};
use toolhost::events::{EventBus, EventKind, Received, RuntimeEvent, Timestamp};

use crate::terminal::{stderr, text};

/// What a line has of a call: `TIME  INSTANCE  TOOL  STATUS  MILLISECONDS`.
pub(crate) struct CallLine<'a> {
    time: Timestamp,
    instance: &'a str,
    tool: &'a str,
    kind: CallKind,
    status: ToolStatus,
    code: Option<&'a str>,
    milliseconds: Option<f64>,
}

impl<'a> From<&'a CallRecord> for CallLine<'a> {
    fn from(call: &'a CallRecord) -> Self {
        Self {
            time: call.time,
            instance: &call.instance,
            tool: &call.tool,
            kind: call.kind,
            status: call.status,
            code: call.code.as_deref(),
            milliseconds: call.duration_ms,
        }
    }
}

impl<'a> CallLine<'a> {
    /// The line of an event; none if no call has ended.
    fn of_event(event: &'a RuntimeEvent) -> Option<Self> {
        let kind = if event.kind == EventKind::ToolSettled {
            CallKind::Settled
        } else {
            CallKind::Call
        };
        Some(Self {
            time: event.timestamp,
            instance: &event.instance_key,
            // Turns and steps have no tool, and what begins has no status.
            tool: event.tool_name.as_deref()?,
            kind,
            status: event.status?,
            code: event.error.as_ref().map(|error| &*error.code),
            milliseconds: event.duration_ms,
        })
    }
}

impl fmt::Display for CallLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (instance, tool) = (text::line(self.instance), text::line(self.tool));
        let status = self.status.as_str();
        write!(f, "{}  {instance}  {tool}  {status}", self.time)?;
        if let Some(code) = self.code {
            write!(f, " {}", text::line(code))?;
        }
        if self.kind != CallKind::Call {
            write!(f, " ({})", self.kind.as_str())?;
        }
        match self.milliseconds {
            Some(milliseconds) => write!(f, "  {milliseconds:.0} ms"),
            None => Ok(()),
        }
    }
}

/// Writes a line to stderr for each call that ends. Never returns while the host is used.
pub(crate) async fn follow(events: EventBus) {
    let mut stream = events.subscribe();
    // The stream does not keep the events alive.
    drop(events);
    while let Some(received) = stream.next().await {
        match received {
            Received::Event(event) => {
                if let Some(line) = CallLine::of_event(&event) {
                    stderr::write(&line.to_string());
                }
            }
            Received::Lost(count) => {
                stderr::write(&format!("{count} events came too fast to be printed"));
            }
        }
    }
}
