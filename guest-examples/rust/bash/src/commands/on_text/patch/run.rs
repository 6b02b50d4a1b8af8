//! One run of `patch`: its options, and where it is.

use std::path::PathBuf;

use super::outputs::Outputs;
use crate::commands::call::Call;
use crate::commands::options::Line;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    Silent,
    Usual,
    Verbose,
}

/// What a patch does if it seems to be applied already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reversal {
    Asks,
    /// `-N`
    Skips,
    /// `-f`
    Applies,
    /// `-t`
    Reverses,
}

/// One run of the command.
pub(super) struct Run<'r, 'c> {
    pub(super) call: &'r mut Call<'c>,
    pub(super) line: &'r Line,
    pub(super) speech: Speech,
    pub(super) reversal: Reversal,
    /// The folder that names count from.
    pub(super) folder: Option<String>,
    pub(super) strip: Option<usize>,
    pub(super) output: Option<String>,
    pub(super) is_dry: bool,
    /// The name that is an operand.
    pub(super) named: Option<String>,
    /// Whether the patch is applied backwards, as asked or as it turned out.
    pub(super) is_reversed: bool,
    /// Whether what is left of the patch of this file is not applied.
    pub(super) is_skipped: bool,
    pub(super) has_failed: bool,
    pub(super) outputs: Outputs,
    /// The file of rejects that was begun.
    pub(super) rejects: Vec<u8>,
    /// What `-o` has so far.
    pub(super) collected: Vec<u8>,
}

/// Which words of a message stand for a number of hunks.
pub(super) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl Run<'_, '_> {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        match &self.folder {
            Some(folder) if !name.starts_with('/') => self.call.path(&format!("{folder}/{name}")),
            _ => self.call.path(name),
        }
    }
}
