//! What the command line prints to.

use super::finding::Finding;
use crate::environment;
use crate::settings::Settings;
use crate::terminal::{Style, Verbosity, stderr, stdout};

const AREA: &str = "terminal";

pub(super) fn examine(settings: &Settings) -> Vec<Finding> {
    let stream = |name, is_terminal: bool, columns: Option<usize>, style: Style| {
        let colours = if style.is_coloured() {
            "colours"
        } else {
            "no colours"
        };
        let value = match (is_terminal, columns) {
            (true, Some(columns)) => format!("terminal with {columns} columns, {colours}"),
            (true, None) => format!("terminal, {colours}"),
            (false, _) => format!("not a terminal, {colours}"),
        };
        Finding::ok(AREA, name, value)
    };
    let progress = if settings.verbosity == Verbosity::Quiet {
        "not displayed: --quiet is set"
    } else if !stderr::is_terminal() {
        "not displayed: stderr is not a terminal"
    } else if environment::is_dumb_terminal() {
        "not displayed: TERM is dumb"
    } else {
        "displayed"
    };
    vec![
        stream(
            "stdout",
            stdout::is_terminal(),
            stdout::columns(),
            settings.stdout_style,
        ),
        stream(
            "stderr",
            stderr::is_terminal(),
            stderr::columns(),
            settings.style,
        ),
        Finding::ok(AREA, "progress", progress),
    ]
}
