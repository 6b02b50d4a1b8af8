//! `script`: a script that is a file.

use std::fs;
use std::io::ErrorKind;

use serde::Deserialize;
use toolhost_guest::{Context, ToolError};

use crate::output::Output;
use crate::shell::{Settings, Shell};

#[derive(Deserialize)]
pub(crate) struct Input {
    path: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(flatten)]
    settings: Settings,
}

/// Returns what [`exec`](crate::exec::exec) does. The path is the workdir's, whatever `cwd` is.
pub(crate) fn script(_: &Context, input: Input) -> Result<Output, ToolError> {
    let path = &input.path;
    let bytes = fs::read(path).map_err(|error| {
        let suggestion = match error.kind() {
            ErrorKind::NotFound => "write the script first, or run it with `exec`",
            _ => "pass the path of a file within the workdir",
        };
        ToolError::from(error).at(path).suggestion(suggestion)
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        ToolError::new(format!("is not a text: {path}"))
            .name("NotTextError")
            .code("NOT_TEXT")
            .suggestion("pass a bash script; programs cannot be started here")
    })?;
    Shell::new(input.settings)?.run(&text, path, input.args)
}
