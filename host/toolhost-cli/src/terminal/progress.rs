//! The progress line: while something large compiles or is built, on a terminal, erased afterwards.
//! Elsewhere one line that stays, of what takes long.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use toolhost::LoadProgress;

use super::Verbosity;
use crate::terminal::{stderr, text};

/// How often the line is written anew.
const TICK: Duration = Duration::from_millis(100);

/// What takes longer than this is worth a line.
const SLOW: Duration = Duration::from_millis(500);

/// What takes longer than this is worth a line that stays.
const VERY_SLOW: Duration = Duration::from_secs(5);

/// What is larger than this is worth a line at once.
const LARGE_BYTES: u64 = 1 << 20;

/// Shows what takes long, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Progress {
    current: Current,
    ticking: Option<(Sender<()>, JoinHandle<()>)>,
}

type Current = Arc<Mutex<Option<Work>>>;

/// What is being done.
#[derive(Debug)]
struct Work {
    what: String,
    /// It is known to take long.
    is_long: bool,
    /// A line that stays was written of it.
    is_said: bool,
    since: Instant,
}

impl Work {
    fn new(what: impl Into<String>, is_long: bool) -> Self {
        Self {
            what: what.into(),
            is_long,
            is_said: false,
            since: Instant::now(),
        }
    }

    /// What it is, once, where it takes very long.
    fn say_once(&mut self) -> Option<String> {
        let now = !self.is_said && self.since.elapsed() >= VERY_SLOW;
        self.is_said |= now;
        now.then(|| self.what.clone())
    }

    fn compiling(name: &str, bytes: u64) -> Self {
        let what = format!("compiling {name} ({})", size(bytes));
        Self::new(what, bytes > LARGE_BYTES)
    }
}

impl Progress {
    /// Starts; where somebody wants quiet, it shows nothing.
    pub(crate) fn start(verbosity: Verbosity) -> Self {
        let current = Current::default();
        let show = if stderr::is_terminal() { tick } else { say };
        let ticking = (verbosity > Verbosity::Quiet).then(|| {
            let (stop, stopped) = channel();
            let watching = Arc::clone(&current);
            (stop, std::thread::spawn(move || show(&watching, &stopped)))
        });
        Self { current, ticking }
    }

    /// A listener for a host that loads a bundle.
    pub(crate) fn listener(&self) -> impl Fn(&LoadProgress) + Send + Sync + 'static {
        let current = Arc::clone(&self.current);
        move |progress| match progress {
            LoadProgress::Preparing { tool, bytes } => {
                set(&current, Some(Work::compiling(tool.as_str(), *bytes)));
            }
            // Whatever the host may come to say is no reason to keep the line.
            LoadProgress::Prepared { .. } | _ => set(&current, None),
        }
    }

    /// Nothing is being prepared any more.
    pub(crate) fn idle(&self) {
        set(&self.current, None);
    }

    /// Shows that something is being prepared, until this is dropped.
    pub(crate) fn preparing(&self, name: &str, bytes: u64) {
        set(&self.current, Some(Work::compiling(name, bytes)));
    }

    /// Shows that something is being done that takes long.
    pub(crate) fn working(&self, what: &str) {
        set(&self.current, Some(Work::new(what, true)));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.ticking.take() {
            drop(stop);
            // It ends within one write to the stderr.
            let _ = thread.join();
        }
    }
}

fn set(current: &Current, work: Option<Work>) {
    *current.lock().unwrap_or_else(PoisonError::into_inner) = work;
}

fn tick(current: &Current, stopped: &Receiver<()>) {
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

/// Says once of each work that it takes long.
fn say(current: &Current, stopped: &Receiver<()>) {
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let what = {
            let mut work = current.lock().unwrap_or_else(PoisonError::into_inner);
            work.as_mut().and_then(Work::say_once)
        };
        // Not while it is locked: nobody may be reading.
        if let Some(what) = what {
            stderr::write(&format!("note: {}: it takes a while", text::line(&what)));
        }
    }
}

/// The line for work that has taken so long; none where it is not worth one.
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

/// A size as people read it.
pub(crate) fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=999_999 => format!("{} KB", bytes / 1_000),
        _ => format!("{} MB", tenths(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_or_slow_has_a_line() {
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
