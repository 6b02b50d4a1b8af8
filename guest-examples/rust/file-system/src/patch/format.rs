//! What a patch says, in either of its formats.

pub(crate) struct Patch {
    pub(crate) files: Vec<FilePatch>,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct FilePatch {
    /// Line of the patch at which it begins, from 1.
    pub(crate) line: usize,
    pub(crate) action: Action,
    pub(crate) hunks: Vec<Hunk>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    Create {
        path: String,
    },
    /// With hunks, which then hold all of the file, or without.
    Delete {
        path: String,
    },
    Update {
        path: String,
        to: Option<String>,
    },
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Hunk {
    /// Line of the patch at which it begins, from 1.
    pub(crate) line: usize,
    /// Number of its first old line in the file, from 1, as the patch says.
    pub(crate) hint: Option<usize>,
    /// Lines of the file after which it stands.
    pub(crate) anchors: Vec<String>,
    pub(crate) lines: Vec<Line>,
    /// Whether it stands at the end of the file.
    pub(crate) is_at_end: bool,
    /// Whether the file then ends with a line feed, if the patch says.
    pub(crate) ends_with_line_feed: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Context,
    Remove,
    Add,
}

impl Line {
    pub(crate) fn new(kind: Kind, text: &str) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }

    /// Parses a line of a hunk. An empty one is an empty line of context, whose space was lost.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut chars = line.chars();
        let kind = match chars.next() {
            None | Some(' ') => Kind::Context,
            Some('-') => Kind::Remove,
            Some('+') => Kind::Add,
            Some(_) => return None,
        };
        Some(Self::new(kind, chars.as_str()))
    }
}

impl Hunk {
    /// Returns the lines that must be in the file.
    pub(crate) fn old(&self) -> Vec<&str> {
        let old = self.lines.iter().filter(|it| it.kind != Kind::Add);
        old.map(|it| it.text.as_str()).collect()
    }

    /// Returns the lines that are there afterwards.
    pub(crate) fn new_lines(&self) -> Vec<&str> {
        let new = self.lines.iter().filter(|it| it.kind != Kind::Remove);
        new.map(|it| it.text.as_str()).collect()
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.lines.iter().filter(|it| it.kind == kind).count()
    }
}

/// Why a text cannot be read as a patch, and at which of its lines.
#[derive(Debug)]
pub(crate) struct Invalid {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

impl Invalid {
    pub(crate) fn new(line: usize, reason: impl Into<String>) -> Self {
        Self {
            line,
            reason: reason.into(),
        }
    }
}
