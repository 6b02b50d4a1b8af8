//! The settings of every command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolhost_manifest::bundle::MANIFEST;

use crate::base::{Base, is_base};
use crate::event_logs::EventLogs;
use crate::failure::Failure;
use crate::state_dirs::StateDirs;
use crate::terminal::{Style, Verbosity, stderr, text};
use crate::toolchains::TargetDir;

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The directories that the host keeps files in.
    pub(crate) dirs: StateDirs,
    /// Certificates that HTTPS requests trust besides the usual ones, in PEM.
    pub(crate) ca_file: Option<PathBuf>,
    /// How much is written to stderr.
    pub(crate) verbosity: Verbosity,
    /// Colours and width of stderr.
    pub(crate) style: Style,
    /// Colours and width of stdout.
    pub(crate) stdout_style: Style,
    /// Where cargo builds.
    pub(crate) target_dir: TargetDir,
    /// The bundle that this program ships.
    pub(crate) base: Arc<Base>,
    /// The logs that are written before the process ends.
    pub(crate) event_logs: EventLogs,
}

impl Settings {
    /// Returns the path of the bundle that a user named: `base` alone is the one that this program ships.
    pub(crate) fn bundle<'a>(&'a self, named: &'a Path) -> Result<&'a Path, Failure> {
        if !is_base(named) {
            return Ok(named);
        }
        if self.base.is_first_use() && named.join(MANIFEST).exists() {
            self.note(
                "'base' is the bundle that toolhost ships; the folder of that name is ./base",
            );
        }
        self.base.unpacked()
    }

    /// Writes a note to stderr, unless `--quiet` is set.
    pub(crate) fn note(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            stderr::write(&format!(
                "{} {}",
                self.style.cyan("note:"),
                text::line(text)
            ));
        }
    }
}
