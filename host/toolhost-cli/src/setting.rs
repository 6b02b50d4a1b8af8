//! What holds for the whole command, whichever it is.

use crate::builder::TargetDir;
use crate::findings::Look;
use crate::places::Places;
use crate::{plain, screen};

/// How much is said on stderr beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loudness {
    /// Nothing.
    Quiet,
    /// What guests log at info and above, and what the user should know.
    Normal,
    /// Also what guests log at debug and print.
    Verbose,
    /// Everything, the host's own steps included.
    All,
}

/// What holds for the whole command.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Where the host keeps what it keeps.
    pub(crate) places: Places,
    /// How much is said.
    pub(crate) loudness: Loudness,
    /// How it looks.
    pub(crate) look: Look,
    /// Where cargo builds tools in Rust.
    pub(crate) target_dir: TargetDir,
}

impl Setting {
    /// Says what the user should know and would not ask.
    pub(crate) fn note(&self, text: &str) {
        if self.loudness > Loudness::Quiet {
            screen::write(&format!(
                "{} {}",
                self.look.cyan("note:"),
                plain::line(text)
            ));
        }
    }
}
