//! A test case, written or generated, with the agent that calls.

use crate::case::Case;
use crate::generated_case::GeneratedCase;
use toolhost::Agent;

/// A case to run.
#[derive(Debug, Clone)]
pub struct PlannedCase {
    /// The case.
    pub case: TestCase,
    /// The agent that calls, under the policy of the run.
    pub agent: Agent,
}

/// A case, and where it comes from.
#[derive(Debug, Clone)]
pub enum TestCase {
    /// From a case file.
    Written {
        /// Index of the file in its [`CaseFiles`](crate::CaseFiles).
        file: usize,
        /// Index of the case in the file.
        index: usize,
        /// The case.
        case: Box<Case>,
    },
    /// From a tool's schema.
    Generated(Box<GeneratedCase>),
}

impl TestCase {
    /// The case file, such as `tests/a.yaml`, or `generated`.
    pub fn file(&self) -> &str {
        match self {
            Self::Written { case, .. } => &case.place.file,
            Self::Generated(_) => "generated",
        }
    }

    /// The line of the case file.
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Written { case, .. } => case.place.position.map(|at| at.line),
            Self::Generated(_) => None,
        }
    }

    /// File and line: `tests/a.yaml:3`.
    pub fn location(&self) -> String {
        match self.line() {
            Some(line) => format!("{}:{line}", self.file()),
            None => self.file().to_owned(),
        }
    }

    /// The tool that the case calls.
    pub fn tool(&self) -> &str {
        match self {
            Self::Written { case, .. } => &case.tool,
            Self::Generated(case) => case.tool.as_str(),
        }
    }

    /// The name of the case.
    pub fn name(&self) -> String {
        match self {
            Self::Written { case, .. } => case.name.clone(),
            Self::Generated(case) => {
                format!("{} ({}): {}", case.tool, case.kind.as_str(), case.name)
            }
        }
    }

    /// Whether the case was generated.
    pub fn is_generated(&self) -> bool {
        matches!(self, Self::Generated(_))
    }

    /// Whether the file, the tool or the name contains `text`.
    pub(crate) fn matches(&self, text: &str) -> bool {
        [self.file(), self.tool(), &self.name()]
            .iter()
            .any(|part| part.contains(text))
    }
}
