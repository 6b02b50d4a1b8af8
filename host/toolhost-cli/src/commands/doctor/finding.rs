//! What is found about one part of this machine.

use serde::Serialize;

/// What is found about one part of this machine.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) area: &'static str,
    pub(super) name: String,
    pub(super) state: State,
    pub(super) value: String,
    #[serde(rename = "neededFor")]
    pub(super) needed_for: Option<&'static str>,
    /// The next move, as a command where there is one.
    pub(super) next: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    /// Something is missing that not everybody needs, or slow.
    Warning,
    /// Commands fail.
    Error,
}

impl Finding {
    pub(super) fn ok(
        area: &'static str,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        Self {
            area,
            name: name.into(),
            state: State::Ok,
            value: value.into(),
            needed_for: None,
            next: None,
        }
    }

    pub(super) fn warning(self, next: impl Into<String>) -> Self {
        Self {
            state: State::Warning,
            next: Some(next.into()),
            ..self
        }
    }

    pub(super) fn error(self, next: impl Into<String>) -> Self {
        Self {
            state: State::Error,
            next: Some(next.into()),
            ..self
        }
    }

    pub(super) fn needed_for(self, needed_for: &'static str) -> Self {
        Self {
            needed_for: Some(needed_for),
            ..self
        }
    }
}
