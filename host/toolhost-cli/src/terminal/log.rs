//! Writes `tracing` events of guests and of the host as lines on stderr.
//!
//! The text of guests is untrusted: control characters are escaped, and each line begins with the name of
//! the tool.

use std::error::Error;
use std::fmt::{self, Write};
use std::sync::{Mutex, PoisonError};

use toolhost_otel::{OtelConfig, OtelError, OtelGuard};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::terminal::Verbosity;
use crate::terminal::{stderr, text};

/// Target of the events that guests log.
const GUEST: &str = "toolhost::guest";

/// Target of the host's decisions.
const AUDIT: &str = "toolhost::audit";

/// Longest line, in columns; guests have 4 KiB for each.
const LINE_MAX: usize = 5_000;

/// Target of the spans of turns, steps and calls.
const SPANS: &str = "toolhost::call";

/// Installs the global subscriber, which also exports spans to a collector.
///
/// # Errors
/// [`OtelError`] if `otlp` is no URL of a collector.
pub(crate) fn start(
    verbosity: Verbosity,
    otlp: Option<&str>,
) -> Result<Option<OtelGuard>, OtelError> {
    let lines = Lines {
        verbosity,
        warned: Mutex::new(Vec::new()),
    };
    let written =
        filter_fn(move |metadata| *metadata.level() <= limit(verbosity, metadata.target()));
    let exported = filter_fn(|metadata| metadata.is_span() && metadata.target() == SPANS);
    let (layer, guard) = otlp
        .map(|url| toolhost_otel::layer(OtelConfig::new(url)))
        .transpose()?
        .unzip();
    let subscriber = tracing_subscriber::registry()
        .with(layer.map(|layer| layer.with_filter(exported)))
        .with(lines.with_filter(written));
    // Fails only if it was called before.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(guard)
}

/// Writes events as lines.
struct Lines {
    verbosity: Verbosity,
    /// The warnings of the host written so far: each is written once, not once per tool.
    warned: Mutex<Vec<&'static str>>,
}

/// Returns the level up to which events are written.
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

/// The fields of an event.
#[derive(Debug, Default)]
struct Record {
    message: String,
    tool: String,
    context: String,
    rest: String,
}

impl Record {
    /// Formats `tool: level: text`, with the tool's name before each line of the text.
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

    /// Formats `level: text (field=value, …)`.
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

    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
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
        self.add(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.add(field, format_args!("{}", reasons(value)));
    }
}

/// An error and its sources, in one sentence. Some errors quote their source.
fn reasons(error: &(dyn Error + 'static)) -> String {
    let mut reasons = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let reason = error.to_string();
        if !reasons.contains(&reason) {
            reasons = format!("{reasons}: {reason}");
        }
        source = error.source();
    }
    reasons
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn an_error_is_a_sentence_with_its_sources() {
        let source = std::io::Error::other("the disk is full");
        let error = anyhow::Error::new(source).context("the host failed");
        assert_eq!(reasons(error.as_ref()), "the host failed: the disk is full");
        let quoting = std::io::Error::other(std::io::Error::other("the disk is full"));
        assert_eq!(reasons(&quoting), "the disk is full");
    }

    /// Sends the line of each event.
    struct Captured(mpsc::Sender<String>);

    impl<S: Subscriber> Layer<S> for Captured {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut record = Record::default();
            event.record(&mut record);
            self.0.send(record.of_host("error")).unwrap();
        }
    }

    #[test]
    fn an_error_of_an_event_is_a_sentence() {
        let (sender, lines) = mpsc::channel();
        let subscriber = tracing_subscriber::registry().with(Captured(sender));
        tracing::subscriber::with_default(subscriber, || {
            let error: &(dyn Error + 'static) = &std::io::Error::other("the disk is full");
            tracing::error!(error, "a call failed");
        });
        let line = lines.recv().unwrap();
        assert_eq!(line, "error: a call failed (error=the disk is full)");
    }

    #[test]
    fn every_line_of_a_guest_begins_with_the_name_of_its_tool() {
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
    fn each_verbosity_has_its_levels() {
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
