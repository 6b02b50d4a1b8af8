//! `exec`: a command line.

use serde::Deserialize;
use toolhost_guest::{Context, ToolError};

use crate::output::Output;
use crate::shell::{Settings, Shell};

#[derive(Deserialize)]
pub(crate) struct Input {
    command: String,
    #[serde(flatten)]
    settings: Settings,
}

/// Returns `{stdout, stderr, exitCode, timedOut?, truncated?}`.
pub(crate) fn exec(_: &Context, input: Input) -> Result<Output, ToolError> {
    Shell::new(input.settings)?.run(&input.command, "bash", Vec::new())
}
