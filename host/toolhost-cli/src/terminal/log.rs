//! What guests log, and what the host has to say, as lines on stderr.
//!
//! Guests' text is data: control characters were escaped by the host, and a line break never lets a
//! guest begin a line of its own.

use std::fmt::{self, Write};
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::terminal::Verbosity;
use crate::terminal::{stderr, text};

/// Where guests' records come in.
pub(crate) const GUEST: &str = "toolhost::guest";

/// Where the host records what it decided.
const AUDIT: &str = "toolhost::audit";

/// Longest line shown, in columns; a guest has 4 KiB for each.
const LINE_MAX: usize = 5_000;

/// Begins to show records.
pub(crate) fn start(verbosity: Verbosity) {
    let lines = Lines {
        verbosity,
        warned: Mutex::new(Vec::new()),
    };
    // Fails only where it was begun before.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines));
}

/// Writes records as lines.
struct Lines {
    verbosity: Verbosity,
    /// Warnings of the host that were shown: each once, however many tools it is true of.
    warned: Mutex<Vec<&'static str>>,
}

/// Which records are shown.
fn limit(verbosity: Verbosity, target: &str) -> LevelFilter {
    let ours =
        target == "toolhost" || target.starts_with("toolhost::") || target.starts_with("toolhost_");
    match (verbosity, target) {
        _ if !ours => LevelFilter::OFF,
        (Verbosity::Quiet, GUEST) => LevelFilter::OFF,
        (Verbosity::Quiet, _) => LevelFilter::ERROR,
        (Verbosity::Normal, GUEST | AUDIT) => LevelFilter::INFO,
        (Verbosity::Normal, _) => LevelFilter::WARN,
        (Verbosity::Verbose, _) => LevelFilter::DEBUG,
        (Verbosity::All, _) => LevelFilter::TRACE,
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= limit(self.verbosity, metadata.target())
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut record = Record::default();
        event.record(&mut record);
        let metadata = event.metadata();
        let level = name(*metadata.level());
        if metadata.target() == GUEST {
            return stderr::write(&record.of_guest(level));
        }
        let once = *metadata.level() == Level::WARN && self.verbosity <= Verbosity::Normal;
        if !once || self.is_first(metadata.name()) {
            stderr::write(&record.of_host(level));
        }
    }
}

impl Lines {
    fn is_first(&self, place: &'static str) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !warned.contains(&place);
        if first {
            warned.push(place);
        }
        first
    }
}

fn name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// What a record says.
#[derive(Debug, Default)]
struct Record {
    message: String,
    tool: String,
    context: String,
    rest: String,
}

impl Record {
    /// `tool: level: text`, each line of the text behind the tool's name.
    fn of_guest(&self, level: &str) -> String {
        let tool = text::line(&self.tool);
        let context = match text::line(&self.context) {
            none if none.is_empty() => String::new(),
            context => format!(" ({context})"),
        };
        let mut text = String::new();
        for line in self.message.split('\n') {
            let line = text::cut(&text::line(line), LINE_MAX);
            let _ = writeln!(text, "{tool}: {level}{context}: {line}");
        }
        text
    }

    /// `level: text (field=value, …)`.
    fn of_host(&self, level: &str) -> String {
        let mut fields = self.rest.clone();
        if !self.tool.is_empty() {
            let _ = write!(fields, ", tool={}", self.tool);
        }
        let fields = match fields.strip_prefix(", ") {
            Some(fields) => format!(" ({fields})"),
            None => String::new(),
        };
        let line = text::line(&format!("{level}: {}{fields}", self.message));
        text::cut(&line, LINE_MAX)
    }

    fn keep(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let _ = match field.name() {
            "message" => self.message.write_fmt(value),
            "tool" => self.tool.write_fmt(value),
            "context" => self.context.write_fmt(value),
            name => write!(self.rest, ", {name}={value}"),
        };
    }
}

impl Visit for Record {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.keep(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.keep(field, format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_never_begins_a_line_of_its_own() {
        let record = Record {
            message: "one\nerror: forged\u{1b}[2J".to_owned(),
            tool: "echo__say".to_owned(),
            ..Record::default()
        };
        assert_eq!(
            record.of_guest("info"),
            "echo__say: info: one\necho__say: info: error: forged\\u{1b}[2J\n"
        );
    }

    #[test]
    fn each_loudness_shows_what_it_promises() {
        use Verbosity::{All, Normal, Quiet, Verbose};
        for (verbosity, target, most) in [
            (Quiet, GUEST, LevelFilter::OFF),
            (Quiet, "toolhost_sandbox::cache", LevelFilter::ERROR),
            (Normal, GUEST, LevelFilter::INFO),
            (Normal, AUDIT, LevelFilter::INFO),
            (Normal, "toolhost_sandbox::cache", LevelFilter::WARN),
            (Verbose, GUEST, LevelFilter::DEBUG),
            (All, "toolhost::executor", LevelFilter::TRACE),
            (All, "wasmtime::runtime", LevelFilter::OFF),
        ] {
            assert_eq!(limit(verbosity, target), most, "{verbosity:?} {target}");
        }
    }
}
