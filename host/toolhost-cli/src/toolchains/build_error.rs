//! Why a build failed: what is wrong, where, and what to do next.

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize)]
pub(crate) struct BuildError {
    /// What has to change.
    #[serde(rename = "whose")]
    pub(crate) cause: ErrorCause,
    /// The errors: at least one.
    #[serde(rename = "errors")]
    pub(crate) faults: Vec<Fault>,
}

/// What has to change for a build to succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorCause {
    /// The source of the tool.
    Source,
    /// The machine: a program is not installed, or a package cannot be downloaded.
    Machine,
    /// Nothing: a source changed during the build.
    Changed,
}

/// An error or a warning of a build. Kits write it with the names of the aliases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fault {
    #[serde(alias = "text")]
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u64>,
    /// The text of the line, or the output of a program.
    #[serde(alias = "lineText", skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// What to do next.
    #[serde(alias = "suggestion", skip_serializing_if = "Option::is_none")]
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

    pub(crate) fn file(self, file: impl Into<String>) -> Self {
        Self {
            file: Some(file.into()),
            ..self
        }
    }

    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()).filter(|detail: &String| !detail.trim().is_empty()),
            ..self
        }
    }

    /// The place as `file:line:column`.
    pub(crate) fn place(&self) -> Option<String> {
        let mut place = self.file.clone()?;
        if let Some(line) = self.line {
            place += &format!(":{line}");
            place.extend(self.column.map(|column| format!(":{column}")));
        }
        Some(place)
    }
}

impl BuildError {
    /// An error in the source.
    pub(crate) fn source(fault: Fault) -> Self {
        Self {
            cause: ErrorCause::Source,
            faults: vec![fault],
        }
    }

    /// An error of the machine.
    pub(crate) fn machine(fault: Fault) -> Self {
        Self {
            cause: ErrorCause::Machine,
            faults: vec![fault],
        }
    }
}

impl From<anyhow::Error> for BuildError {
    fn from(error: anyhow::Error) -> Self {
        Self::machine(Fault::new(format!("{error:#}")))
    }
}
