//! What holds for the whole command, whichever it is.

use crate::state_dirs::StateDirs;
use crate::terminal::Style;
use crate::terminal::{Verbosity, stderr, text};
use crate::toolchains::TargetDir;

/// What holds for the whole command.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Where the host keeps what it keeps.
    pub(crate) dirs: StateDirs,
    /// How much is said.
    pub(crate) verbosity: Verbosity,
    /// How it looks.
    pub(crate) style: Style,
    /// Where cargo builds tools in Rust.
    pub(crate) target_dir: TargetDir,
}

impl Settings {
    /// Says what the user should know and would not ask.
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
