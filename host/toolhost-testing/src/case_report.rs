//! The result of one case, and its JSON.

use std::time::Duration;

use crate::judge::LogLine;
use crate::mismatch::Mismatch;
use serde_json::{Value, json};
use toolhost::ToolName;
use toolhost::tool::Denial;

use crate::planned_case::TestCase;

/// The result of one case.
#[derive(Debug)]
pub struct CaseReport {
    /// The case.
    pub case: TestCase,
    /// The agent that called, if the bundle has several.
    pub agent: Option<String>,
    /// What differed from the expectations, in the first run that failed.
    pub mismatches: Vec<Mismatch>,
    /// How often the case ran.
    pub runs: u32,
    /// How many runs failed.
    pub failed: u32,
    /// How long all runs took.
    pub took: Duration,
    /// What the tool logged in the reported run.
    pub log: Vec<LogLine>,
    /// The usage of the reported run.
    pub usage: Value,
    /// The denials of all runs.
    pub denials: Vec<Denial>,
    /// Whether [`Report::accept_results`] changed the case to expect this result.
    pub updated: bool,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every run met the expectations.
    Passed,
    /// A run did not.
    Failed,
    /// A run did not, and the case now expects its result.
    Updated,
}

impl Verdict {
    /// `passed`, `failed` or `updated`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Updated => "updated",
        }
    }
}

impl CaseReport {
    /// How the case ended.
    pub fn verdict(&self) -> Verdict {
        match (self.failed, self.updated) {
            (0, _) => Verdict::Passed,
            (_, true) => Verdict::Updated,
            (_, false) => Verdict::Failed,
        }
    }

    /// Returns each denied operation that the case does not expect and that one line of a policy grants, with
    /// that line.
    pub fn policy_lines(&self) -> Vec<(&Denial, String)> {
        let Ok(tool) = ToolName::parse(self.case.tool()) else {
            return Vec::new();
        };
        let expected = match &self.case {
            TestCase::Written { case, .. } => case.expect.denials.as_deref(),
            TestCase::Generated(_) => None,
        };
        let expected = expected.unwrap_or_default();
        let denials = self.denials.iter();
        let denials = denials.filter(|denial| !expected.contains(&denial.to_string()));
        let lines = denials.filter_map(|denial| {
            let line = denial.policy_line(tool.resource()).ok()?;
            Some((denial, line))
        });
        lines.collect()
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({
            "file": self.case.file(),
            "line": self.case.line(),
            "name": self.case.name(),
            "tool": self.case.tool(),
            "status": self.verdict().as_str(),
            "ms": milliseconds(self.took),
            "runs": self.runs,
            "problems": self.mismatches,
            "usage": self.usage,
        });
        let Value::Object(members) = &mut json else {
            return json;
        };
        if self.verdict() == Verdict::Failed {
            let lines = self.policy_lines().into_iter();
            let lines = lines.map(|(denial, line)| json!({"denied": denial, "policy": line}));
            let lines: Vec<Value> = lines.collect();
            if !lines.is_empty() {
                members.insert("grants".to_owned(), lines.into());
            }
        }
        if let TestCase::Generated(case) = &self.case {
            members.insert("kind".to_owned(), case.kind.as_str().into());
            members.insert("args".to_owned(), json!(case.args));
        }
        json
    }
}

/// Milliseconds, with three decimals.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
