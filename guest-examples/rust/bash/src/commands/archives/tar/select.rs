//! Which names are meant: patterns of operands and of `--exclude`.

use std::path::PathBuf;

use crate::commands::on_text::glob::{self, Slash};

/// How a pattern is compared with a name.
#[derive(Clone, Copy)]
pub(super) struct Matching {
    pub(super) has_wildcards: bool,
    /// Only at the beginning of a name, not after each slash.
    pub(super) is_anchored: bool,
    pub(super) ignores_case: bool,
    pub(super) slash: Slash,
    /// Whether what is in a folder of the name matches, too.
    pub(super) takes_contents: bool,
}

pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) matching: Matching,
}

impl Pattern {
    pub(super) fn matches(&self, name: &str) -> bool {
        let tails = name.match_indices('/').filter_map(|(at, _)| {
            let tail = name.get(at + 1..)?;
            (!tail.is_empty() && !tail.starts_with('/')).then_some(tail)
        });
        let tails = tails.filter(|_| !self.matching.is_anchored);
        std::iter::once(name)
            .chain(tails)
            .any(|tail| self.matches_at(tail))
    }

    fn matches_at(&self, name: &str) -> bool {
        let folders = name.match_indices('/').filter_map(|(at, _)| name.get(..at));
        let mut folders = folders.filter(|_| self.matching.takes_contents);
        self.is(name) || folders.any(|folder| self.is(folder))
    }

    fn is(&self, name: &str) -> bool {
        let matches = |text: &str, name: &str| {
            if self.matching.has_wildcards {
                glob::matches(text, name, self.matching.slash)
            } else {
                text == name
            }
        };
        if self.matching.ignores_case {
            matches(&self.text.to_lowercase(), &name.to_lowercase())
        } else {
            matches(&self.text, name)
        }
    }
}

/// An operand or a line of `-T`.

pub(super) struct Name {
    pub(super) pattern: Pattern,
    /// The folder that `-C` before it names.
    pub(super) folder: PathBuf,
    /// How many members it has matched.
    pub(super) count: u64,
}

/// Names of folders of version control.
pub(super) const VERSION_CONTROL: [&str; 21] = [
    "CVS",
    ".cvsignore",
    "RCS",
    "SCCS",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".svn",
    ".arch-ids",
    "{arch}",
    "=RELEASE-ID",
    "=meta-update",
    "=update",
    ".bzr",
    ".bzrignore",
    ".bzrtags",
    ".hg",
    ".hgignore",
    ".hgtags",
    "_darcs",
];

pub(super) const BACKUPS: [&str; 3] = [".#*", "*~", "#*#"];

/// A file that marks its folder, and what of the folder is left out then.

pub(super) struct Tag {
    pub(super) file: String,
    pub(super) leaves: Leaves,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    /// The folder and the file.
    FolderAndTag,
    Folder,
    Nothing,
}

/// What a file begins with that `--exclude-caches` looks for.
pub(super) const CACHE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
