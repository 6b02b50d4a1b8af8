//! Displays slow work: on a terminal as a progress line that is erased afterwards, elsewhere as one line
//! for work that takes very long.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use toolhost::LoadProgress;

use crate::terminal::{Verbosity, stderr, text};

/// Time between two updates of the line.
const TICK: Duration = Duration::from_millis(100);

/// Work that takes longer is displayed.
const SLOW: Duration = Duration::from_millis(500);

/// Work that takes longer gets a line where stderr is not a terminal.
const VERY_SLOW: Duration = Duration::from_secs(5);

/// Compiling a larger component is displayed at once.
const LARGE_BYTES: u64 = 1 << 20;

/// Displays the current work until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    current: Current,
    ticking: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The current work, in the order begun. The first is displayed.
type Current = Arc<Mutex<Vec<Work>>>;

/// Work that is not done yet.
#[derive(Debug)]
struct Work {
    /// The tool whose component is compiled. Empty for other work.
    tool: String,
    what: String,
    /// Whether to display it at once.
    is_long: bool,
    /// Whether its line was written, where stderr is not a terminal.
    is_written: bool,
    since: Instant,
}

impl Work {
    fn new(what: impl Into<String>, is_long: bool) -> Self {
        Self {
            tool: String::new(),
            what: text::line(&what.into()),
            is_long,
            is_written: false,
            since: Instant::now(),
        }
    }

    fn compiling(name: &str, bytes: u64) -> Self {
        let what = format!("compiling {name} ({})", size(bytes));
        Self {
            tool: name.to_owned(),
            ..Self::new(what, bytes > LARGE_BYTES)
        }
    }

    /// Returns the progress line after this time, if it is to be displayed.
    fn line(&self, elapsed: Duration) -> Option<String> {
        let is_displayed = self.is_long || elapsed >= SLOW;
        is_displayed.then(|| format!("{}, {} s", self.what, elapsed.as_secs()))
    }

    /// Returns the note about very slow work, once.
    fn note(&mut self, elapsed: Duration) -> Option<String> {
        let is_due = !self.is_written && elapsed >= VERY_SLOW;
        self.is_written |= is_due;
        is_due.then(|| format!("note: {}: it takes a while", self.what))
    }
}

impl Progress {
    /// Starts. With [`Verbosity::Quiet`] nothing is displayed.
    pub(crate) fn start(verbosity: Verbosity) -> Self {
        let current = Current::default();
        let ticking = (verbosity > Verbosity::Quiet).then(|| {
            let (stop, stopped) = channel();
            let watching = Arc::clone(&current);
            (stop, std::thread::spawn(move || watch(&watching, &stopped)))
        });
        Self { current, ticking }
    }

    /// Returns a listener for a host that loads bundles.
    pub(crate) fn listener(&self) -> impl Fn(&LoadProgress) + Send + Sync + 'static {
        let current = Arc::clone(&self.current);
        move |progress| match progress {
            LoadProgress::Preparing { tool, bytes } => {
                lock(&current).push(Work::compiling(tool.as_str(), *bytes));
            }
            LoadProgress::Prepared { tool, .. } => {
                lock(&current).retain(|work| work.tool != tool.as_str());
            }
            // The library's enum may grow.
            _ => {}
        }
    }

    /// Ends the display of the current work.
    pub(crate) fn idle(&self) {
        lock(&self.current).clear();
    }

    /// Displays that a component is compiled.
    pub(crate) fn compiling(&self, name: &str, bytes: u64) {
        *lock(&self.current) = vec![Work::compiling(name, bytes)];
    }

    /// Displays work at once.
    pub(crate) fn working(&self, what: &str) {
        *lock(&self.current) = vec![Work::new(what, true)];
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.ticking.take() {
            drop(stop);
            // The thread ends after at most one write.
            let _ = thread.join();
        }
    }
}

fn lock(current: &Current) -> MutexGuard<'_, Vec<Work>> {
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Displays the current work until `stopped` is closed.
fn watch(current: &Current, stopped: &Receiver<()>) {
    let is_terminal = stderr::is_terminal();
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let text = {
            let mut current = lock(current);
            current.first_mut().and_then(|work| match is_terminal {
                true => work.line(work.since.elapsed()),
                false => work.note(work.since.elapsed()),
            })
        };
        // Not under the lock: a write to stderr may block.
        if is_terminal {
            let columns = stderr::columns().unwrap_or(80);
            stderr::progress(text.map(|line| text::cut(&line, columns)).as_deref());
        } else if let Some(note) = text {
            stderr::write(&note);
        }
    }
    if is_terminal {
        stderr::progress(None);
    }
}

/// Formats a size for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=999_999 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_or_slow_work_has_a_line() {
        let check = |bytes: u64, millis: u64, expected: Option<&str>| {
            let work = Work::compiling("bash", bytes);
            let line = work.line(Duration::from_millis(millis));
            assert_eq!(line.as_deref(), expected, "{bytes} {millis}");
        };
        check(170_000, 100, None);
        check(170_000, 500, Some("compiling bash (170 KB), 0 s"));
        check(18_700_000, 0, Some("compiling bash (18.7 MB), 0 s"));
        check(18_700_000, 12_300, Some("compiling bash (18.7 MB), 12 s"));
    }

    #[test]
    fn a_size_is_short() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (9_999, "9999 bytes"),
            (167_432, "167 KB"),
            (1_050_000, "1.0 MB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }
}
