//! Case files: YAML lists of cases.
//!
//! ```yaml
//! - name: counts a text file
//!   tool: notes__count
//!   args: { path: poem.txt }
//!   files: { poem.txt: "one two\nthree\n" }
//!   expect:
//!     output: { lines: 2, words: 3 }
//! ```
//!
//! `docs/testing.md` lists every key.

mod edit;
mod read;

use toolhost_manifest::yaml::Node;
use toolhost_manifest::{Diagnostic, YamlSource};

use crate::case::Case;
use crate::mismatch::Change;

pub use edit::{EditError, Edited};

/// A case file: its cases, and its text for changing their expectations.
#[derive(Debug, Clone)]
pub struct CaseFile {
    source: YamlSource,
    node: Node,
    cases: Vec<Case>,
}

impl CaseFile {
    /// Parses a case file.
    ///
    /// # Errors
    /// All findings at once.
    pub fn parse(source: &YamlSource) -> Result<Self, Vec<Diagnostic>> {
        let (node, cases) = read::cases(source)?;
        Ok(Self {
            source: source.clone(),
            node,
            cases,
        })
    }

    /// The cases, in the order written.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The text, for displaying its lines.
    pub fn source(&self) -> &YamlSource {
        &self.source
    }

    /// Returns the text with other expectations. Everything else, including comments, is unchanged.
    ///
    /// # Errors
    /// [`EditError`] if the text cannot be changed without changing more.
    pub fn edited(&self, changes: &[Change]) -> Result<Edited, EditError> {
        edit::edited(&self.source, &self.node, changes)
    }
}

#[cfg(test)]
mod tests;
