//! Displays slow work as a line on a terminal, which is erased before anything else is printed.
//!
//! There is no such line if stderr is not a terminal, or if `TERM` is `dumb`; then a start that compiles for longer than
//! a second is a note. Nothing is displayed with `--quiet`.

mod work;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use toolhost::LoadProgress;
use toolhost::sandbox::PrepareStage;

use crate::terminal::{Verbosity, stderr, text};
use work::{Amount, AtOnce, Work, line_of_stage};
pub(crate) use work::{folder_bytes, size};

/// Time between two updates of the line.
const TICK: Duration = Duration::from_millis(100);

/// Time between two measurements of a folder, which may hold thousands of files.
const MEASURE: Duration = Duration::from_secs(1);

/// One frame of the spinner for each update.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// How long a host compiles components, or waits for another process that does, before that is noted.
const SLOW_START: Duration = Duration::from_secs(1);

/// Displays the current work until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    current: Current,
    painter: Option<Painter>,
    /// Notes a slow start, in the place of the painter. The thread starts when a component is compiled.
    notes: Option<Arc<OnceLock<Option<Painter>>>>,
}

/// The work that is not done yet, in the order begun.
type Current = Arc<Mutex<Vec<Work>>>;

/// The thread that writes. It ends when the sender is dropped.
type Painter = (Sender<()>, JoinHandle<()>);

/// One piece of work. Dropping it ends its display.
#[derive(Debug)]
#[must_use = "dropping a phase ends its display"]
pub(crate) struct Phase {
    current: Current,
    id: u64,
}

impl Progress {
    pub(crate) fn start(verbosity: Verbosity) -> Self {
        let current = Current::default();
        let watching = Arc::clone(&current);
        let (is_quiet, has_line) = (verbosity <= Verbosity::Quiet, stderr::has_progress());
        let painter = (!is_quiet && has_line)
            .then(|| start(watching, paint))
            .flatten();
        let notes = (!is_quiet && !has_line).then(Arc::default);
        Self {
            current,
            painter,
            notes,
        }
    }

    /// Returns a listener for a host that loads bundles: it displays the components that are compiled.
    pub(crate) fn listener(&self) -> impl Fn(&LoadProgress) + Send + Sync + 'static {
        let current = Arc::clone(&self.current);
        let notes = self.notes.as_ref().map(Arc::downgrade);
        move |progress| match progress {
            LoadProgress::Preparing { tool, bytes } => {
                lock(&current).push(Work::compiling(tool.as_str(), *bytes));
            }
            LoadProgress::Slow { tool, stage } => {
                let mut works = lock(&current);
                let mut works = works.iter_mut();
                if let Some(work) = works.find(|work| work.compiles(tool.as_str())) {
                    work.enter(*stage);
                }
                // None once nothing is displayed any more.
                if let Some(notes) = notes.as_ref().and_then(Weak::upgrade) {
                    notes.get_or_init(|| start(Arc::clone(&current), note));
                }
            }
            LoadProgress::Prepared { tool, .. } => {
                lock(&current).retain(|work| !work.compiles(tool.as_str()));
            }
            LoadProgress::Failed { tool, finding } => {
                lock(&current).retain(|work| !work.compiles(tool.as_str()));
                // Also with --quiet: each call of the tool fails.
                stderr::write(&text::line(&format!("{finding}; {}", finding.help)));
            }
            // The library's enum may grow.
            _ => {}
        }
    }

    /// Ends the display of components that are compiled.
    pub(crate) fn idle(&self) {
        lock(&self.current).retain(|work| !work.is_component());
    }

    /// Displays that a component is compiled.
    pub(crate) fn compiling(&self, name: &str, bytes: u64) -> Phase {
        self.begin(Work::compiling(name, bytes))
    }

    /// Displays work at once.
    pub(crate) fn working(&self, what: &str) -> Phase {
        self.begin(Work::new(what, AtOnce::Yes))
    }

    /// Displays work that takes longer than half a second.
    pub(crate) fn waiting(&self, what: &str) -> Phase {
        self.begin(Work::new(what, AtOnce::IfSlow))
    }

    /// Displays a call that takes longer than a second.
    pub(crate) fn calling(&self, tool: &str) -> Phase {
        self.begin(Work::new(&format!("calling {tool}"), AtOnce::IfSlowCall))
    }

    /// Displays at once how many of `total` parts are done; [`Phase::advance`] counts them. `part` is the
    /// singular of a part: `testing: 3 of 12 cases, 4 s`.
    pub(crate) fn counting(&self, what: &str, part: &str, total: usize) -> Phase {
        let amount = Amount::Parts {
            done: 0,
            failed: 0,
            total,
            part: part.to_owned(),
        };
        self.begin(Work::new(what, AtOnce::Yes).with(amount))
    }

    /// Displays at once how large a folder is that a program downloads into, or notes that it begins. `about` is the
    /// size at the end, in bytes, if it is known roughly.
    pub(crate) fn downloading(&self, what: &str, folder: &Path, about: Option<u64>) -> Phase {
        let amount = Amount::Folder {
            folder: folder.to_owned(),
            bytes: 0,
            about,
        };
        if self.notes.is_some() {
            stderr::write(&note_of_download(what, about));
        }
        self.begin(Work::new(&format!("downloading {what}"), AtOnce::Yes).with(amount))
    }

    fn begin(&self, mut work: Work) -> Phase {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        work.phase = Some(id);
        lock(&self.current).push(work);
        Phase {
            current: Arc::clone(&self.current),
            id,
        }
    }
}

impl Phase {
    /// Counts one more part as done.
    pub(crate) fn advance(&self) {
        self.count(0);
    }

    /// Counts one more part as done that has failed.
    pub(crate) fn advance_failed(&self) {
        self.count(1);
    }

    fn count(&self, failures: usize) {
        let mut current = lock(&self.current);
        let own = current.iter_mut().find(|work| work.phase == Some(self.id));
        if let Some(Amount::Parts { done, failed, .. }) = own.map(|work| &mut work.amount) {
            *done += 1;
            *failed += failures;
        }
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        lock(&self.current).retain(|work| work.phase != Some(self.id));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let notes = self.notes.take().and_then(Arc::into_inner);
        let notes = notes.and_then(OnceLock::into_inner).flatten();
        for (stop, thread) in self.painter.take().into_iter().chain(notes) {
            drop(stop);
            // The thread ends after at most one write.
            let _ = thread.join();
        }
    }
}

fn note_of_download(what: &str, about: Option<u64>) -> String {
    let size = about.map(|about| format!(": about {}", size(about)));
    text::line(&format!(
        "note: downloading {what}{}",
        size.unwrap_or_default()
    ))
}

/// Starts a thread that displays the work. None where the system has no thread for it.
fn start(current: Current, display: fn(&Current, &Receiver<()>)) -> Option<Painter> {
    let (stop, stopped) = channel();
    let thread = std::thread::Builder::new().spawn(move || display(&current, &stopped));
    Some((stop, thread.ok()?))
}

fn lock(current: &Current) -> MutexGuard<'_, Vec<Work>> {
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the work that is displayed: the last phase, else the component that has been compiled for the
/// longest time.
fn displayed(current: &mut [Work]) -> Option<&mut Work> {
    let last = current.iter().rposition(|work| work.phase.is_some());
    current.get_mut(last.unwrap_or(0))
}

/// Writes the line until `stopped` is closed.
fn paint(current: &Current, stopped: &Receiver<()>) {
    let mut frames = SPINNER.iter().cycle();
    let mut is_written = false;
    let mut measured: Option<Instant> = None;
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        if measured.is_none_or(|at| at.elapsed() >= MEASURE) {
            measure(current);
            measured = Some(Instant::now());
        }
        let line = displayed(&mut lock(current)).and_then(|work| work.line(work.since.elapsed()));
        // Not under the lock: a write to stderr may block.
        match line {
            Some(line) => {
                let frame = frames.next().copied().unwrap_or_default();
                let columns = stderr::columns().unwrap_or(80).saturating_sub(1);
                let line = text::cut(&format!("{frame} {line}"), columns.max(1));
                stderr::progress(Some(&line));
                is_written = true;
            }
            // Only its own line: another `Progress` may have written the one that is there.
            None if is_written => {
                stderr::progress(None);
                is_written = false;
            }
            None => {}
        }
    }
    if is_written {
        stderr::progress(None);
    }
}

/// Writes a line about each stage of a slow start that lasts, once, until `stopped` is closed.
fn note(current: &Current, stopped: &Receiver<()>) {
    let mut stages = vec![PrepareStage::Compiling, PrepareStage::Waiting];
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) && !stages.is_empty() {
        stages.retain(|stage| {
            let line = line_of_stage(&lock(current), *stage, SLOW_START);
            // Not under the lock: a write to stderr may block.
            line.inspect(|line| stderr::write(line)).is_none()
        });
    }
}

/// Measures the folder of the work that is displayed, without the lock.
fn measure(current: &Current) {
    let found = displayed(&mut lock(current)).and_then(|work| match &work.amount {
        Amount::Folder { folder, .. } => Some((work.phase, folder.clone())),
        Amount::None | Amount::Parts { .. } => None,
    });
    let Some((phase, folder)) = found else {
        return;
    };
    let size = folder_bytes(&folder);
    let mut current = lock(current);
    let work = current.iter_mut().find(|work| work.phase == phase);
    if let Some(Amount::Folder { bytes, .. }) = work.map(|work| &mut work.amount) {
        *bytes = size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(progress: &Progress) -> Option<String> {
        let mut current = lock(&progress.current);
        displayed(&mut current).and_then(|work| work.line(Duration::from_secs(4)))
    }

    #[test]
    fn the_last_phase_is_displayed_until_it_ends() {
        let progress = Progress::start(Verbosity::Quiet);
        assert_eq!(line(&progress), None);
        let building = progress.working("building notes");
        assert_eq!(line(&progress).as_deref(), Some("building notes, 4 s"));
        let dir = tempfile::tempdir().unwrap();
        let downloading = progress.downloading("the kit", dir.path(), None);
        let expected = "downloading the kit: 0 bytes so far, 4 s";
        assert_eq!(line(&progress).as_deref(), Some(expected));
        drop(downloading);
        assert_eq!(line(&progress).as_deref(), Some("building notes, 4 s"));
        drop(building);
        assert_eq!(line(&progress), None);
    }

    #[test]
    fn a_download_is_noted_with_its_size() {
        assert_eq!(
            note_of_download("the kit for Python", Some(72_000_000)),
            "note: downloading the kit for Python: about 72.0 MB"
        );
        assert_eq!(note_of_download("it", None), "note: downloading it");
    }

    #[test]
    fn parts_that_are_done_are_counted() {
        let progress = Progress::start(Verbosity::Quiet);
        let testing = progress.counting("testing", "case", 12);
        for _ in 0..3 {
            testing.advance();
        }
        let expected = "testing: 3 of 12 cases, 4 s";
        assert_eq!(line(&progress).as_deref(), Some(expected));
    }

    #[test]
    fn a_folder_is_measured_while_it_is_downloaded() {
        let progress = Progress::start(Verbosity::Quiet);
        let dir = tempfile::tempdir().unwrap();
        let _phase = progress.downloading("the kit", dir.path(), Some(80_000_000));
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/b"), vec![0; 20_000_000]).unwrap();
        measure(&progress.current);
        let expected = "downloading the kit: 20.0 MB of about 80.0 MB (25%), 4 s";
        assert_eq!(line(&progress).as_deref(), Some(expected));
    }
}
