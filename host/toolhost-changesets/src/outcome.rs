//! What a commit returns.

use serde::Serialize;
use toolhost::manifest::Diagnostic;

/// How a file differs from the bundle's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The bundle does not have it.
    Created,
    /// Its content differs.
    Changed,
    /// Only the bundle has it.
    Deleted,
}

/// A file that differs from the bundle's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChangedFile {
    /// The path in the bundle's folder.
    pub path: String,
    /// How it differs.
    pub change: ChangeKind,
    /// Bytes of the file; none if it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The difference in the format of `diff -u`; none if a version is not text or has more than 256 KiB, or if the
    /// differences of the files before it have 2 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// What a commit returns.
///
/// As JSON: `{"status": "ok", "changes": […]}`, `{"status": "rejected", "diagnostics": […], "hint": …}`,
/// `{"status": "conflict", "files": […], "hint": …}` or `{"status": "failed", "error": …, "hint": …}`.
///
/// Spec: requirements-v1 §12.4(1), §12.4(2).
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum CommitOutcome {
    /// The bundle was changed and loaded. It takes effect at the next step. The changeset is closed.
    Ok {
        /// The files that were changed.
        changes: Vec<ChangedFile>,
        /// Warnings and notes of the load.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        diagnostics: Vec<Diagnostic>,
    },
    /// The bundle does not load with the changes. Nothing was changed, and the changeset is still open.
    Rejected {
        /// All findings.
        diagnostics: Vec<Diagnostic>,
        /// The next step.
        hint: &'static str,
    },
    /// Files of the bundle were changed since the changeset read them. Nothing was changed, and the
    /// changeset is still open.
    Conflict {
        /// Their paths in the bundle's folder.
        files: Vec<String>,
        /// The next step.
        hint: &'static str,
    },
    /// The files could not be changed. They are as before, and the changeset is still open.
    Failed {
        /// Why.
        error: String,
        /// The next step.
        hint: &'static str,
    },
}

impl CommitOutcome {
    pub(crate) fn rejected(diagnostics: Vec<Diagnostic>) -> Self {
        Self::Rejected {
            diagnostics,
            hint: "Correct the errors with changeset__write and commit again. Nothing was changed.",
        }
    }

    pub(crate) fn conflict(files: Vec<String>) -> Self {
        Self::Conflict {
            files,
            hint: "Read each of these files with changeset__read and version 'bundle', write it with both \
                   changes, and commit again; or discard the changeset. Nothing was changed.",
        }
    }

    pub(crate) fn failed(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
            hint: "Commit again. If it fails again, the operator has to remove the cause. Nothing was changed.",
        }
    }
}
