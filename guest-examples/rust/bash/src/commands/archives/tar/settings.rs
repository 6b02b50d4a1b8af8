//! What the options of `tar` set.

use std::path::PathBuf;

use super::member::Format;
use super::names::Transformation;
use super::select::{Pattern, Tag};
use crate::commands::archives::codec::Codec;
use crate::commands::dates::{Moment, Zone};
use crate::commands::on_files::modes::Mode;
use crate::commands::options::Line;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Concatenate,
    Create,
    Compare,
    Delete,
    Append,
    List,
    Update,
    Extract,
}

/// What happens to a file that is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    /// It is replaced; a folder gets the mode and time of the member.
    Replace,
    /// It is replaced; a folder keeps its own.
    KeepFolders,
    Overwrite,
    Keep,
    Skip,
    KeepNewer,
}

/// A user or a group that members get.
#[derive(Default)]
pub(super) struct Owner {
    pub(super) id: Option<i64>,
    pub(super) name: Option<String>,
}

pub(super) struct Settings {
    pub(super) operation: Operation,
    /// `-` is standard input or output.
    pub(super) archive: String,
    pub(super) codec: Option<Codec>,
    pub(super) level: u32,
    pub(super) verbosity: usize,
    pub(super) has_names: bool,
    pub(super) folder: PathBuf,
    pub(super) excluded: Vec<Pattern>,
    pub(super) tags: Vec<Tag>,
    pub(super) transformations: Vec<Transformation>,
    pub(super) strip: usize,
    pub(super) top: Option<String>,
    pub(super) occurrence: Option<u64>,
    pub(super) existing: Existing,
    pub(super) user: Owner,
    pub(super) group: Owner,
    pub(super) mode: Option<Mode>,
    pub(super) modified: Option<Moment>,
    /// Files that are older are left out.
    pub(super) newer: Option<Moment>,
    pub(super) format: Format,
    pub(super) record: u64,
    pub(super) silent: Vec<String>,
    pub(super) zone: Zone,
    pub(super) line: Line,
}

impl Settings {
    /// Whether an option was given that has no value.
    pub(super) fn has(&self, name: &str) -> bool {
        self.line.has(name)
    }

    /// Whether the last of two options is the first.
    pub(super) fn is_on(&self, on: &str, off: &str) -> bool {
        self.line.last_of(&[on, off]) == Some(on)
    }
}
