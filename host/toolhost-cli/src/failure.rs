//! Errors of commands: what is wrong, where, and a hint.

use serde_json::{Value, json};
use toolhost::{
    LoadError,
    manifest::{Diagnostic, YamlSource},
};

use crate::exit::Exit;
use crate::terminal::{Style, diagnostics, stderr, text};

#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// Findings in files.
    pub(crate) findings: Vec<Diagnostic>,
    /// The files, for quoting their lines.
    sources: Vec<YamlSource>,
    pub(crate) exit: Exit,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            hint: None,
            findings: Vec::new(),
            sources: Vec::new(),
            exit: Exit::Unusable,
        }
    }
}

impl Failure {
    /// The failure of a command that a signal stopped. `exit` is the exit code for the signal.
    pub(crate) fn stopped(exit: Exit) -> Self {
        let how = match exit {
            Exit::Terminated => "terminated",
            Exit::HungUp => "the terminal was closed",
            Exit::Done | Exit::Refused | Exit::Unusable | Exit::Interrupted => "interrupted",
        };
        let error = anyhow::anyhow!("{how}; what was running has been stopped");
        Self {
            exit,
            ..Self::from(error)
        }
    }

    /// The failure of files with findings.
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

    /// The failure of a bundle that does not load under a policy.
    pub(crate) fn of_bundle(error: LoadError, policy: Option<&YamlSource>) -> Self {
        let hint = error.help();
        let LoadError::Invalid {
            sources,
            diagnostics,
        } = &error
        else {
            return Self::from(error).hint(hint);
        };
        let findings = diagnostics.clone();
        let sources = sources.iter().chain(policy).cloned().collect();
        // The findings are printed apart.
        Self {
            findings,
            sources,
            ..Self::from(anyhow::anyhow!(error.summary())).hint(hint)
        }
    }

    /// Sets the hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the exit code of a command that was refused.
    pub(crate) fn refused(mut self) -> Self {
        self.exit = Exit::Refused;
        self
    }

    /// The error on one line.
    pub(crate) fn message(&self) -> String {
        text::line(&chain(&self.error))
    }

    /// The JSON of `check` and `build`.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "ok": false,
            "error": {"message": self.message(), "help": self.hint},
            "diagnostics": self.findings,
            "tools": [],
        })
    }

    /// Writes the findings, the error and the hint to stderr.
    pub(crate) fn print(&self, style: Style) {
        let mut text = diagnostics::render(&self.findings, &self.sources, style);
        text += &format!("{} {}\n", style.red("error:"), self.message());
        if let Some(hint) = &self.hint {
            text += &format!("{} {}\n", style.cyan("hint:"), text::line(hint));
        }
        stderr::write(&text);
    }
}

/// Adds a hint to the error of a result.
pub(crate) trait Hint<T> {
    fn hint(self, hint: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> Hint<T> for Result<T, E> {
    fn hint(self, hint: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| error.into().hint(hint))
    }
}

/// Joins an error and its causes, but leaves out causes that the error before already ends with.
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
    fn causes_follow_and_are_not_repeated() {
        let deep = Err::<(), _>(anyhow::anyhow!("permission denied"));
        let quoted = deep.context("/x: permission denied").context("no cache");
        assert_eq!(
            chain(&quoted.unwrap_err()),
            "no cache: /x: permission denied"
        );
    }
}
