//! One case to be run: written or generated, with the agent it is run for.

use toolhost::cases::{Case, Generated, GeneratedKind};
use toolhost::{Agent, Host};

/// One case to be run.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// What it is.
    pub(crate) what: What,
    /// The host it is run by, under its policy.
    pub(crate) host: Host,
    /// The agent that calls.
    pub(crate) agent: Agent,
}

/// A case, and where it comes from.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// Of a case file.
    Written {
        /// Number of the file.
        file: usize,
        /// Number of the case in it.
        number: usize,
        /// The case.
        case: Box<Case>,
    },
    /// Of a tool's schema.
    Generated(Box<Generated>),
}

impl What {
    /// Where it comes from: `tests/a.yaml`, `generated`.
    pub(crate) fn file(&self) -> &str {
        match self {
            Self::Written { case, .. } => &case.place.file,
            Self::Generated(_) => "generated",
        }
    }

    /// The line of its file.
    pub(crate) fn line(&self) -> Option<u32> {
        match self {
            Self::Written { case, .. } => case.place.position.map(|at| at.line),
            Self::Generated(_) => None,
        }
    }

    /// Where it comes from, for people: `tests/a.yaml:3`.
    pub(crate) fn place(&self) -> String {
        match self.line() {
            Some(line) => format!("{}:{line}", self.file()),
            None => self.file().to_owned(),
        }
    }

    /// The tool it calls.
    pub(crate) fn tool(&self) -> &str {
        match self {
            Self::Written { case, .. } => &case.tool,
            Self::Generated(case) => case.tool.as_str(),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Written { case, .. } => case.name.clone(),
            Self::Generated(case) => {
                format!("{} ({}): {}", case.tool, case.kind.as_str(), case.name)
            }
        }
    }

    /// Its kind, where it was generated.
    pub(crate) fn kind(&self) -> Option<GeneratedKind> {
        match self {
            Self::Written { .. } => None,
            Self::Generated(case) => Some(case.kind),
        }
    }

    /// Whether a text is in its file, name or tool.
    pub(crate) fn has(&self, text: &str) -> bool {
        [self.file(), self.tool(), &self.name()]
            .iter()
            .any(|part| part.contains(text))
    }
}
