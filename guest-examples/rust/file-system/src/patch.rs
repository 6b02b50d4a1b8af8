//! `apply-patch`: a patch of several files, all of it or nothing.

mod envelope;
mod files;
mod format;
mod hunks;
mod unified;

use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError};

use crate::changes::commit;
use crate::failure::failure;
use files::{Done, Files};
use format::{Invalid, Patch};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    patch: String,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    applied: bool,
    files: Vec<Done>,
    /// What the patch says and is not done, or was understood in another way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub(crate) fn apply_patch(_: &Context, input: Input) -> Result<Output, ToolError> {
    let Patch { files, notes } = parse(&input.patch).map_err(invalid)?;
    let mut state = Files::default();
    let mut done = Vec::with_capacity(files.len());
    for file in &files {
        done.push(state.apply(file)?);
    }
    if !input.dry_run {
        commit(&state.changes())?;
    }
    Ok(Output {
        applied: !input.dry_run,
        files: done,
        notes,
    })
}

fn parse(text: &str) -> Result<Patch, Invalid> {
    // A patch whose own lines end with CRLF says nothing about the lines of the files.
    let lines: Vec<&str> = text.split('\n').collect();
    let (last, all) = lines.split_last().unwrap_or((&"", &[]));
    let is_crlf = !all.is_empty() && all.iter().all(|line| line.ends_with('\r'));
    let mut lines: Vec<&str> = if is_crlf {
        lines
            .iter()
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .collect()
    } else {
        lines.clone()
    };
    if last.is_empty() {
        lines.pop();
    }
    let patch = if envelope::is_envelope(&lines) {
        envelope::parse(&lines)
    } else {
        unified::parse(&lines)
    }?;
    if patch.files.is_empty() {
        return Err(Invalid::new(1, "it changes no file"));
    }
    Ok(patch)
}

fn invalid(invalid: Invalid) -> ToolError {
    failure(
        "INVALID_PATCH",
        "InvalidPatchError",
        format!("line {} of the patch: {}; nothing was changed", invalid.line, invalid.reason),
        "pass a unified diff as `git diff` prints it, or `*** Begin Patch` with `*** Update File: PATH`, `@@` and lines that begin with a space, `-` or `+`".into(),
    )
}

#[cfg(test)]
mod tests;
