//! The parts of the ranker that a benchmark leaves out to measure what each is worth.

/// A part of the ranker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchPart {
    /// Fields count by their weight, in place of all the same.
    Weights,
    /// The text of parameters is searched.
    Parameters,
    /// Values of parameters count more than their descriptions.
    Values,
    /// Identifiers are words as a whole too.
    Wholes,
    /// Words are compared by their stems.
    Stems,
    /// Words find their synonyms.
    Synonyms,
    /// Words that many tools have count less for whether a tool fits.
    WeakWords,
    /// A tool ranks higher with each word of the query that it has.
    Coverage,
    /// A tool that has too few words of the query is left out.
    Rule,
}

/// The parts that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SearchParts(u16);

impl Default for SearchParts {
    fn default() -> Self {
        Self(u16::MAX)
    }
}

impl SearchParts {
    pub(crate) fn without(self, part: SearchPart) -> Self {
        Self(self.0 & !(1 << part as u16))
    }

    pub(super) fn has(self, part: SearchPart) -> bool {
        self.0 & (1 << part as u16) != 0
    }
}
