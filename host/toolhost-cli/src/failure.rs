//! Why a command has no answer: what is wrong, where, and the next move.

use std::path::Path;

use serde_json::{Value, json};
use toolhost::{Diagnostic, LoadError, YamlSource};

use crate::exit::Exit;
use crate::terminal::Style;
use crate::terminal::diagnostics;
use crate::terminal::{stderr, text};

/// A signal that stops a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// A command that has no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What is wrong, its causes below it.
    error: anyhow::Error,
    /// The next move.
    hint: Option<String>,
    /// What is wrong in files, where that is what is wrong.
    findings: Vec<Diagnostic>,
    /// The files, for showing their lines.
    sources: Vec<YamlSource>,
    exit: Exit,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self {
            error,
            hint: None,
            findings: Vec::new(),
            sources: Vec::new(),
            exit: Exit::Unusable,
        }
    }
}

impl Failure {
    /// Makes one of an error.
    pub(crate) fn of(error: impl Into<anyhow::Error>) -> Self {
        Self::from(error.into())
    }

    /// A command stopped by a signal.
    pub(crate) fn stopped(signal: StopSignal) -> Self {
        let (how, exit) = match signal {
            StopSignal::Interrupt => ("interrupted", Exit::Interrupted),
            StopSignal::Terminate => ("terminated", Exit::Terminated),
        };
        let error = anyhow::anyhow!("{how}; what was running has been stopped");
        Self {
            exit,
            ..Self::from(error)
        }
    }

    /// A policy that cannot be used.
    pub(crate) fn of_policy(
        path: &Path,
        source: Option<YamlSource>,
        findings: Vec<Diagnostic>,
    ) -> Self {
        let error = anyhow::anyhow!("the policy {} cannot be used", path.display());
        Self {
            findings,
            sources: source.into_iter().collect(),
            ..Self::from(error).hint("Correct what is listed; nothing was loaded.")
        }
    }

    /// Files that cannot be used for what is wrong in them.
    pub(crate) fn of_files(
        error: anyhow::Error,
        findings: Vec<Diagnostic>,
        sources: Vec<YamlSource>,
    ) -> Self {
        Self {
            findings,
            sources,
            ..Self::from(error)
        }
    }

    /// A bundle that does not load, under a policy.
    pub(crate) fn of_bundle(error: LoadError, policy: Option<&YamlSource>) -> Self {
        let hint = error.help();
        let (mut sources, mut findings) = (Vec::new(), Vec::new());
        if let LoadError::Invalid { yaml, diagnostics } = &error {
            findings.clone_from(diagnostics);
            sources.push(yaml.clone());
            sources.extend(policy.cloned());
        }
        Self {
            findings,
            sources,
            ..Self::of(error).hint(hint)
        }
    }

    /// Sets the next move.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What is wrong in files.
    pub(crate) fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// What is wrong, on one line.
    pub(crate) fn message(&self) -> String {
        text::line(&chain(&self.error))
    }

    /// The next move.
    pub(crate) fn next_move(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// What a program reads of it, for a command that tells of tools.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "ok": false,
            "error": {"message": self.message(), "help": self.next_move()},
            "diagnostics": self.findings,
            "tools": [],
        })
    }

    /// How the process ends.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Tells people: the findings, the error, then, apart from it, the hint.
    pub(crate) fn show(&self, style: Style) {
        let mut text = diagnostics::render(&self.findings, &self.sources, style);
        text += &format!("{} {}\n", style.red("error:"), self.message());
        if let Some(hint) = &self.hint {
            text += &format!("{} {}\n", style.cyan("hint:"), text::line(hint));
        }
        stderr::write(&text);
    }
}

/// The error and its causes. A cause that the error above it quotes is not said again.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn causes_follow_and_are_said_once() {
        let deep = Err::<(), _>(anyhow::anyhow!("permission denied"));
        let quoted = deep.context("/x: permission denied").context("no cache");
        assert_eq!(
            chain(&quoted.unwrap_err()),
            "no cache: /x: permission denied"
        );
    }
}
