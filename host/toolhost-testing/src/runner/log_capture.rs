//! Collects what the tool of one case logs and prints.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::judge::LogLine;
use tracing::dispatcher::{self, Dispatch};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Target of the events that guests log.
const GUEST: &str = "toolhost::guest";

/// Most lines kept. The sandbox limits each call too.
const LINES_MAX: usize = 10_000;

/// A subscriber for one case, as cases run at the same time. Passes warnings and errors of the host on to
/// the subscriber that was current when this was made.
#[derive(Debug, Clone)]
pub(super) struct LogCapture {
    lines: Arc<Mutex<Vec<LogLine>>>,
    outer: Dispatch,
}

impl Default for LogCapture {
    fn default() -> Self {
        Self {
            lines: Arc::default(),
            outer: dispatcher::get_default(Dispatch::clone),
        }
    }
}

impl LogCapture {
    /// The lines so far.
    pub(super) fn lines(&self) -> Vec<LogLine> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.clone()
    }
}

impl Subscriber for LogCapture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.target() == GUEST {
            return metadata.is_event();
        }
        metadata.is_event() && *metadata.level() <= Level::WARN && self.outer.enabled(metadata)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() != GUEST {
            self.outer.event(event);
            return;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < LINES_MAX {
            let level = event.metadata().level().as_str().to_lowercase();
            let mut line = LogLine {
                level,
                context: String::new(),
                text: String::new(),
            };
            event.record(&mut LineVisitor(&mut line));
            lines.push(line);
        }
    }
}

struct LineVisitor<'l>(&'l mut LogLine);

impl Visit for LineVisitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.text = format!("{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.0.text),
            "context" => value.clone_into(&mut self.0.context),
            _ => (),
        }
    }
}
