//! What the tool of one case logs and prints. Each case listens for itself: cases run at once.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use toolhost::cases::LogLine;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::terminal::log::GUEST;
use crate::terminal::stderr;

/// Most lines kept; the sandbox has a limit of its own for each call.
const LINES_MAX: usize = 10_000;

/// Listens to the calls of one case.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard(Arc<Mutex<Vec<LogLine>>>);

impl Heard {
    /// What was heard.
    pub(super) fn lines(&self) -> Vec<LogLine> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Subscriber for Heard {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let least = if metadata.target() == GUEST {
            Level::TRACE
        } else {
            Level::WARN
        };
        metadata.is_event() && *metadata.level() <= least
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut said = Said::default();
        event.record(&mut said);
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        if event.metadata().target() != GUEST {
            // The host's own: not the tool's to answer for.
            stderr::write(&format!(
                "{level}: {}",
                crate::terminal::text::line(&said.message)
            ));
            return;
        }
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < LINES_MAX {
            lines.push(LogLine {
                level: level.to_owned(),
                context: said.context,
                text: said.message,
            });
        }
    }
}

#[derive(Default)]
struct Said {
    message: String,
    context: String,
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            "context" => value.clone_into(&mut self.context),
            _ => (),
        }
    }
}
