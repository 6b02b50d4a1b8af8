//! What a kit answers, on the last line of its stdout.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use serde::Deserialize;

use super::build_error::{BuildError, ErrorCause, Fault};
use super::job::BuiltComponent;
use super::process::Said;

/// What a kit answers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Built {
        /// What the component was built of, where the kit knows.
        #[serde(default)]
        inputs: Vec<PathBuf>,
        warnings: Vec<Told>,
    },
    Refused {
        /// `source`, or what else has to change.
        kind: String,
        errors: Vec<Told>,
    },
}

/// A finding of the kit's.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    text: String,
    file: Option<String>,
    line: Option<u64>,
    column: Option<u64>,
    #[serde(alias = "lineText")]
    detail: Option<String>,
    pub(super) suggestion: Option<String>,
}

impl From<Told> for Fault {
    fn from(told: Told) -> Self {
        Self {
            message: told.text,
            file: told.file,
            line: told.line,
            column: told.column,
            detail: told.detail,
            next: told.suggestion,
        }
    }
}

impl Answer {
    /// Reads what a kit said.
    pub(super) fn of(said: &Said, kit: &str) -> Result<Self, BuildError> {
        let last = said.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).map_err(|_| {
            let fault = Fault::new(format!("the {kit} kit ended without an answer"));
            BuildError::machine(fault.detail(said.end()))
        })
    }

    /// The component that the kit left at `out`, or why there is none.
    pub(super) fn made(
        self,
        out: &Path,
        started: SystemTime,
    ) -> Result<BuiltComponent, BuildError> {
        match self {
            Self::Built { inputs, warnings } => Ok(BuiltComponent {
                component: fs::read(out).context("the kit left no component")?,
                inputs,
                started,
                notes: warnings.into_iter().map(Fault::from).collect(),
            }),
            Self::Refused { kind, errors } => Err(BuildError {
                whose: match kind.as_str() {
                    "source" => ErrorCause::Source,
                    _ => ErrorCause::Machine,
                },
                faults: errors.into_iter().map(Fault::from).collect(),
            }),
        }
    }
}
