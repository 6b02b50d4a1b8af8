//! Why there is no component: what is wrong, where, and the next move.

use serde::Serialize;

/// A build that made nothing.
#[derive(Debug)]
pub(crate) struct BuildError {
    /// Who can mend it.
    pub(crate) whose: ErrorCause,
    /// At least one.
    pub(crate) faults: Vec<Fault>,
}

/// Who can mend what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorCause {
    /// The tool's author.
    Source,
    /// Whoever keeps the machine: something is not installed, or cannot be fetched.
    Machine,
}

/// One thing that is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Fault {
    /// What.
    pub(crate) message: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u64>,
    /// The line's text, or what else shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// The next move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    pub(crate) fn next(self, next: impl Into<String>) -> Self {
        Self {
            next: Some(next.into()),
            ..self
        }
    }

    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()).filter(|detail: &String| !detail.trim().is_empty()),
            ..self
        }
    }

    /// The place, as editors understand it.
    pub(crate) fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        let line = self.line.map(|line| format!(":{line}"));
        let column = self.column.filter(|_| line.is_some());
        let column = column.map(|column| format!(":{column}"));
        Some(format!(
            "{file}{}{}",
            line.unwrap_or_default(),
            column.unwrap_or_default()
        ))
    }
}

impl BuildError {
    /// What the author mends.
    pub(crate) fn source(fault: Fault) -> Self {
        Self {
            whose: ErrorCause::Source,
            faults: vec![fault],
        }
    }

    /// What is wrong with the machine.
    pub(crate) fn machine(fault: Fault) -> Self {
        Self {
            whose: ErrorCause::Machine,
            faults: vec![fault],
        }
    }
}

impl From<anyhow::Error> for BuildError {
    fn from(error: anyhow::Error) -> Self {
        Self::machine(Fault::new(format!("{error:#}")))
    }
}
