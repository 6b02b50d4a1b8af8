//! Displays slow work: on a terminal as a progress line that is erased afterwards, elsewhere as one line
//! for work that takes very long.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use toolhost::LoadProgress;

use super::Verbosity;
use crate::terminal::{stderr, text};

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

type Current = Arc<Mutex<Option<Work>>>;

/// The current work.
#[derive(Debug)]
struct Work {
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
            what: what.into(),
            is_long,
            is_written: false,
            since: Instant::now(),
        }
    }

    /// Returns its name, once it has taken very long.
    fn name_once(&mut self) -> Option<String> {
        let now = !self.is_written && self.since.elapsed() >= VERY_SLOW;
        self.is_written |= now;
        now.then(|| self.what.clone())
    }

    fn compiling(name: &str, bytes: u64) -> Self {
        let what = format!("compiling {name} ({})", size(bytes));
        Self::new(what, bytes > LARGE_BYTES)
    }
}

impl Progress {
    /// Starts. With [`Verbosity::Quiet`] nothing is displayed.
    pub(crate) fn start(verbosity: Verbosity) -> Self {
        let current = Current::default();
        let show = match stderr::is_terminal() {
            true => show_line,
            false => write_once,
        };
        let ticking = (verbosity > Verbosity::Quiet).then(|| {
            let (stop, stopped) = channel();
            let watching = Arc::clone(&current);
            (stop, std::thread::spawn(move || show(&watching, &stopped)))
        });
        Self { current, ticking }
    }

    /// Returns a listener for a host that loads bundles.
    pub(crate) fn listener(&self) -> impl Fn(&LoadProgress) + Send + Sync + 'static {
        let current = Arc::clone(&self.current);
        move |progress| match progress {
            LoadProgress::Preparing { tool, bytes } => {
                set(&current, Some(Work::compiling(tool.as_str(), *bytes)));
            }
            // The library's enum may grow.
            LoadProgress::Prepared { .. } | _ => set(&current, None),
        }
    }

    /// Ends the display of the current work.
    pub(crate) fn idle(&self) {
        set(&self.current, None);
    }

    /// Displays that a component is compiled.
    pub(crate) fn compiling(&self, name: &str, bytes: u64) {
        set(&self.current, Some(Work::compiling(name, bytes)));
    }

    /// Displays work at once.
    pub(crate) fn working(&self, what: &str) {
        set(&self.current, Some(Work::new(what, true)));
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

fn set(current: &Current, work: Option<Work>) {
    *current.lock().unwrap_or_else(PoisonError::into_inner) = work;
}

/// Updates the progress line.
fn show_line(current: &Current, stopped: &Receiver<()>) {
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let line = {
            let work = current.lock().unwrap_or_else(PoisonError::into_inner);
            work.as_ref()
                .and_then(|work| line(work, work.since.elapsed()))
        };
        let columns = stderr::columns().unwrap_or(80);
        stderr::progress(line.map(|line| text::cut(&line, columns)).as_deref());
    }
    stderr::progress(None);
}

/// Writes one line for work that takes very long.
fn write_once(current: &Current, stopped: &Receiver<()>) {
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let what = {
            let mut work = current.lock().unwrap_or_else(PoisonError::into_inner);
            work.as_mut().and_then(Work::name_once)
        };
        // Not under the lock: a write to stderr may block.
        if let Some(what) = what {
            stderr::write(&format!("note: {}: it takes a while", text::line(&what)));
        }
    }
}

/// Returns the line for work that has taken this long, if it is to be displayed.
fn line(work: &Work, elapsed: Duration) -> Option<String> {
    if !work.is_long && elapsed < SLOW {
        return None;
    }
    Some(format!(
        "{}, {} s",
        text::line(&work.what),
        elapsed.as_secs()
    ))
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
            let line = line(&work, Duration::from_millis(millis));
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
