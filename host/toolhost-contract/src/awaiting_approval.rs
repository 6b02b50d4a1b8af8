//! Why a result is pending: somebody has to consent first.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What a call waits to do until somebody consents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeldEffect {
    /// To run.
    Call,
    /// To change files of its workdir.
    Workdir,
    /// To send an HTTP request.
    Http,
    /// To send a message to another agent.
    Agents,
}

impl HeldEffect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Call, Self::Workdir, Self::Http, Self::Agents];

    /// Returns `call`, `workdir`, `http` or `agents`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Workdir => "workdir",
            Self::Http => "http",
            Self::Agents => "agents",
        }
    }

    fn waits(self) -> &'static str {
        match self {
            Self::Call => "before it runs",
            Self::Workdir => "before its changes of files are kept",
            Self::Http => "before it sends a request",
            Self::Agents => "before it sends a message to another agent",
        }
    }
}

impl fmt::Display for HeldEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the address of an approval on the page on which people decide.
#[must_use]
pub fn approval_address(page: &str, id: &str) -> String {
    format!("{page}#/approvals/{id}")
}

/// Why a result is pending: the call waits until a person consents.
///
/// JSON: `{"reason": "awaiting-approval", "effect": "workdir", "expiresAt": "2026-11-28T05:00:00.000Z"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename = "awaiting-approval", rename_all = "camelCase")]
pub struct AwaitingApproval {
    /// What it waits to do.
    pub effect: HeldEffect,
    /// Until when somebody may decide.
    pub expires_at: Timestamp,
}

impl AwaitingApproval {
    /// Returns what a model has to know.
    #[must_use]
    pub fn for_model(self) -> String {
        let (waits, until) = (self.effect.waits(), self.expires_at);
        format!(
            "A person has to approve this call {waits}, until {until}. It is neither refused nor lost: do not make it \
             again, and ask for its result later."
        )
    }
}
