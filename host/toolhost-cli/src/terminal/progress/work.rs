//! One piece of slow work, and its line.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use toolhost::sandbox::PrepareStage;

use crate::terminal::text;

/// Work that takes longer is displayed.
const SLOW: Duration = Duration::from_millis(500);

/// A call that takes longer is displayed.
const SLOW_CALL: Duration = Duration::from_secs(1);

/// Compiling a larger component is displayed at once.
const LARGE_BYTES: u64 = 1 << 20;

/// Most entries of a folder that are measured. The kits have some thousand.
const ENTRIES_MAX: usize = 100_000;

#[derive(Debug)]
pub(super) struct Work {
    /// The id of its phase. None for a component that a host prepares.
    pub(super) phase: Option<u64>,
    /// The tool whose component is compiled. Empty for other work.
    tool: String,
    /// The component, with its size. Empty for other work.
    component: String,
    /// What takes long, if a host prepares a component and it is not in the cache, and since when.
    stage: Option<(PrepareStage, Instant)>,
    what: String,
    at_once: AtOnce,
    pub(super) amount: Amount,
    pub(super) since: Instant,
}

/// When work is displayed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtOnce {
    Yes,
    IfSlow,
    IfSlowCall,
}

/// How much of the work is done.
#[derive(Debug)]
pub(super) enum Amount {
    None,
    /// Parts of a known number.
    Parts {
        done: usize,
        /// How many of those that are done have failed.
        failed: usize,
        total: usize,
        part: String,
    },
    /// The size of a folder that another program fills.
    Folder {
        folder: PathBuf,
        bytes: u64,
        /// The size at the end, roughly.
        about: Option<u64>,
    },
}

impl Work {
    pub(super) fn new(what: &str, at_once: AtOnce) -> Self {
        Self {
            phase: None,
            tool: String::new(),
            component: String::new(),
            stage: None,
            what: text::line(what),
            at_once,
            amount: Amount::None,
            since: Instant::now(),
        }
    }

    pub(super) fn compiling(name: &str, bytes: u64) -> Self {
        let at_once = if bytes > LARGE_BYTES {
            AtOnce::Yes
        } else {
            AtOnce::IfSlow
        };
        let component = format!("{name} ({})", size(bytes));
        let work = Self::new(&format!("compiling {component}"), at_once);
        Self {
            tool: name.to_owned(),
            component,
            ..work
        }
    }

    /// Sets what takes long.
    pub(super) fn enter(&mut self, stage: PrepareStage) {
        self.stage = Some((stage, Instant::now()));
        self.what = format!("{} {}", what_of(stage), text::line(&self.component));
    }

    pub(super) fn with(self, amount: Amount) -> Self {
        Self { amount, ..self }
    }

    /// Whether a host prepares a component.
    pub(super) fn is_component(&self) -> bool {
        self.phase.is_none()
    }

    /// Whether a host prepares the component of this tool.
    pub(super) fn compiles(&self, tool: &str) -> bool {
        self.is_component() && self.tool == tool
    }

    /// Returns the line after this time, if it is to be displayed.
    pub(super) fn line(&self, elapsed: Duration) -> Option<String> {
        let is_displayed = match self.at_once {
            AtOnce::Yes => true,
            AtOnce::IfSlow => elapsed >= SLOW,
            AtOnce::IfSlowCall => elapsed >= SLOW_CALL,
        };
        let (what, amount, seconds) = (&self.what, self.amount.text(), elapsed.as_secs());
        is_displayed.then(|| format!("{what}{amount}, {seconds} s"))
    }
}

impl Amount {
    fn text(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Parts {
                done,
                failed,
                total,
                part,
            } => {
                let failed = match failed {
                    0 => String::new(),
                    failed => format!(", {failed} failed"),
                };
                format!(": {done} of {}{failed}", text::counted(*total, part))
            }
            Self::Folder {
                bytes,
                about: Some(about),
                ..
            } => {
                // What is left is not known exactly.
                let percent = (bytes * 100 / (*about).max(1)).min(99);
                format!(": {} of about {} ({percent}%)", size(*bytes), size(*about))
            }
            Self::Folder {
                bytes, about: None, ..
            } => format!(": {} so far", size(*bytes)),
        }
    }
}

/// Returns what a host does in a stage, before the name of the component.
fn what_of(stage: PrepareStage) -> &'static str {
    if stage == PrepareStage::Waiting {
        "waiting for another process that compiles"
    } else {
        "compiling"
    }
}

/// Returns a line about the components in a stage, if one has been in it for this time.
pub(super) fn line_of_stage(all: &[Work], stage: PrepareStage, least: Duration) -> Option<String> {
    let since = |work: &Work| work.stage.filter(|it| it.0 == stage).map(|it| it.1);
    if !all.iter().filter_map(since).any(|it| it.elapsed() >= least) {
        return None;
    }
    let of_stage = all.iter().filter(|work| since(work).is_some());
    let components: Vec<&str> = of_stage.map(|work| work.component.as_str()).collect();
    let listed = text::line(&components.join(", "));
    let what = what_of(stage);
    Some(format!("note: {what} components: {listed}"))
}

/// Adds up the sizes of the files in a folder. Follows no links, and leaves out what cannot be read.
pub(crate) fn folder_bytes(folder: &Path) -> u64 {
    let (mut bytes, mut entries) = (0_u64, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(listed) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in listed.flatten() {
            entries += 1;
            if entries > ENTRIES_MAX {
                return bytes;
            }
            match entry.metadata() {
                Ok(found) if found.is_dir() => folders.push(entry.path()),
                Ok(found) if found.is_file() => bytes = bytes.saturating_add(found.len()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    bytes
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
        let check = |work: &Work, millis: u64, expected: Option<&str>| {
            let line = work.line(Duration::from_millis(millis));
            assert_eq!(line.as_deref(), expected, "{work:?} {millis}");
        };
        let small = Work::compiling("bash", 170_000);
        check(&small, 100, None);
        check(&small, 500, Some("compiling bash (170 KB), 0 s"));
        let large = Work::compiling("bash", 18_700_000);
        check(&large, 0, Some("compiling bash (18.7 MB), 0 s"));
        check(&large, 12_300, Some("compiling bash (18.7 MB), 12 s"));
        let call = Work::new("calling wait__seconds", AtOnce::IfSlowCall);
        check(&call, 999, None);
        check(&call, 3_000, Some("calling wait__seconds, 3 s"));
    }

    const AT_ONCE: Duration = Duration::ZERO;

    #[test]
    fn a_stage_has_a_line_with_all_components_that_are_in_it() {
        let mut all = [
            Work::new("building notes", AtOnce::Yes),
            Work::compiling("bash", 18_700_000),
            Work::compiling("echo\u{1b}", 170_000),
            Work::compiling("text", 170_000),
        ];
        assert_eq!(line_of_stage(&all, PrepareStage::Compiling, AT_ONCE), None);
        all[1].enter(PrepareStage::Waiting);
        let waiting = "waiting for another process that compiles bash (18.7 MB), 1 s";
        assert_eq!(
            all[1].line(Duration::from_secs(1)).as_deref(),
            Some(waiting)
        );
        all[1].enter(PrepareStage::Compiling);
        all[2].enter(PrepareStage::Compiling);
        all[3].enter(PrepareStage::Waiting);
        let line = line_of_stage(&all, PrepareStage::Compiling, AT_ONCE).unwrap();
        assert!(
            line.starts_with("note: compiling components: bash (18.7 MB), echo"),
            "{line}"
        );
        assert!(!line.contains(toolhost::text::needs_escape), "{line:?}");
        assert_eq!(
            line_of_stage(&all, PrepareStage::Waiting, AT_ONCE).as_deref(),
            Some("note: waiting for another process that compiles components: text (170 KB)")
        );
        let hour = Duration::from_secs(3_600);
        assert_eq!(line_of_stage(&all, PrepareStage::Waiting, hour), None);
    }

    #[test]
    fn a_download_is_never_said_to_be_complete() {
        let amount = |bytes, about| {
            let folder = PathBuf::new();
            Amount::Folder {
                folder,
                bytes,
                about,
            }
            .text()
        };
        assert_eq!(
            amount(90_000_000, Some(80_000_000)),
            ": 90.0 MB of about 80.0 MB (99%)"
        );
        assert_eq!(amount(0, Some(0)), ": 0 bytes of about 0 bytes (0%)");
        assert_eq!(amount(1_200_000, None), ": 1.2 MB so far");
    }

    #[test]
    fn the_name_of_a_tool_cannot_control_the_terminal() {
        let work = Work::new("calling a\u{1b}[2J\n", AtOnce::Yes);
        let line = work.line(Duration::ZERO).unwrap();
        assert!(!line.contains(toolhost::text::needs_escape), "{line:?}");
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
