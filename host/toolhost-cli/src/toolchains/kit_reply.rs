//! The reply of a kit: JSON on the last line of its stdout.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use serde::Deserialize;
use toolhost::tool::JsonLimits;

use super::build_error::{BuildError, ErrorCause, Fault};
use super::job::{BuiltComponent, DescribedExport};
use super::process::ProcessOutput;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum KitReply {
    /// The kit has checked the sources, or built them.
    Built {
        /// The names of the handlers, if the kit knows them.
        #[serde(default)]
        handlers: Option<Vec<String>>,
        /// The source files, if the kit knows them.
        #[serde(default)]
        inputs: Vec<PathBuf>,
        warnings: Vec<Fault>,
        /// What the functions of the tool say of themselves.
        #[serde(default)]
        exports: Option<Vec<DescribedExport>>,
    },
    Refused {
        /// `source`, or another cause.
        kind: String,
        errors: Vec<Fault>,
    },
}

impl KitReply {
    /// Parses the output of a kit.
    pub(super) fn parse(output: &ProcessOutput, kit: &str) -> Result<Self, BuildError> {
        let last = output.stdout.lines().last().unwrap_or_default();
        JsonLimits::REPLY.parse(last).map_err(|_| {
            let fault = Fault::new(format!("the {kit} kit ended without a result"));
            BuildError::machine(fault.detail(output.stderr_end()))
        })
    }

    /// Reads the component that the kit wrote to `out`, or returns why there is none.
    pub(super) fn component(
        self,
        out: &Path,
        started: SystemTime,
    ) -> Result<BuiltComponent, BuildError> {
        match self {
            Self::Built {
                inputs,
                warnings,
                exports,
                ..
            } => Ok(BuiltComponent {
                exports,
                component: fs::read(out).context("the kit wrote no component")?,
                inputs,
                started,
                notes: warnings,
            }),
            Self::Refused { kind, errors } => Err(refusal(&kind, errors)),
        }
    }

    /// Returns the names of the handlers that a check found, or its errors.
    pub(super) fn handlers(self) -> Result<Option<Vec<String>>, BuildError> {
        match self {
            Self::Built { handlers, .. } => Ok(handlers),
            Self::Refused { kind, errors } => Err(refusal(&kind, errors)),
        }
    }
}

fn refusal(kind: &str, errors: Vec<Fault>) -> BuildError {
    BuildError {
        cause: match kind {
            "source" => ErrorCause::Source,
            _ => ErrorCause::Machine,
        },
        faults: errors,
    }
}
