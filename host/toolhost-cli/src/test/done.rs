//! What came of the cases.

use std::time::Duration;

use serde_json::{Value, json};
use toolhost::Denial;
use toolhost::cases::{LogLine, Mismatch};

use super::item::What;

/// What came of one case.
#[derive(Debug)]
pub(crate) struct Done {
    /// The case.
    pub(crate) what: What,
    /// The agent that called, where the bundle has several.
    pub(crate) agent: Option<String>,
    /// What was not as expected, in the first run in which something was not.
    pub(crate) mismatches: Vec<Mismatch>,
    /// How often it ran.
    pub(crate) runs: u32,
    /// In how many runs something was not as expected.
    pub(crate) failed: u32,
    /// How long it took, all its runs.
    pub(crate) took: Duration,
    /// What the tool logged in the run that is told.
    pub(crate) log: Vec<LogLine>,
    /// The receipt of that run.
    pub(crate) usage: Value,
    /// What was refused for want of a grant, in any run.
    pub(crate) denials: Vec<Denial>,
    /// Whether what came was written into the case.
    pub(crate) updated: bool,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed,
    Updated,
}

impl Verdict {
    /// In a word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Updated => "updated",
        }
    }
}

impl Done {
    /// How it ended.
    pub(crate) fn verdict(&self) -> Verdict {
        match (self.failed, self.updated) {
            (0, _) => Verdict::Passed,
            (_, true) => Verdict::Updated,
            (_, false) => Verdict::Failed,
        }
    }

    fn to_json(&self) -> Value {
        let problem = |mismatch: &Mismatch| {
            let Mismatch {
                what,
                expected,
                got,
                ..
            } = mismatch;
            json!({"what": what, "expected": expected, "got": got})
        };
        let problems: Vec<Value> = self.mismatches.iter().map(problem).collect();
        let mut told = json!({
            "file": self.what.file(),
            "line": self.what.line(),
            "name": self.what.name(),
            "tool": self.what.tool(),
            "status": self.verdict().as_str(),
            "ms": milliseconds(self.took),
            "runs": self.runs,
            "problems": problems,
            "usage": self.usage,
        });
        if let (Value::Object(told), What::Generated(case)) = (&mut told, &self.what) {
            told.insert("kind".to_owned(), case.kind.as_str().into());
            told.insert("args".to_owned(), Value::Object(case.args.clone()));
        }
        told
    }
}

/// What came of all.
#[derive(Debug)]
pub(crate) struct Report {
    /// The command that calls a tool of it, but for the tool.
    pub(crate) call: String,
    /// What the drawn arguments follow from.
    pub(crate) seed: u64,
    /// Each case, in order.
    pub(crate) done: Vec<Done>,
    /// How long it took.
    pub(crate) took: Duration,
}

impl Report {
    /// Those of case files, or those generated.
    pub(crate) fn of(&self, generated: bool) -> impl Iterator<Item = &Done> {
        self.done
            .iter()
            .filter(move |done| done.what.kind().is_some() == generated)
    }

    /// For programs. Of what was generated, each that failed, and the count of all.
    pub(crate) fn to_json(&self) -> Value {
        let count = |generated: bool, verdict: Verdict| {
            self.of(generated)
                .filter(|done| done.verdict() == verdict)
                .count()
        };
        let failed = count(false, Verdict::Failed) + count(true, Verdict::Failed);
        let cases: Vec<Value> = self.of(false).map(Done::to_json).collect();
        let generated = self
            .of(true)
            .filter(|done| done.verdict() == Verdict::Failed);
        let generated: Vec<Value> = generated.map(Done::to_json).collect();
        json!({
            "ok": failed == 0,
            "passed": count(false, Verdict::Passed),
            "failed": count(false, Verdict::Failed),
            "updated": count(false, Verdict::Updated),
            "ms": milliseconds(self.took),
            "cases": cases,
            "generated": {
                "seed": self.seed,
                "passed": count(true, Verdict::Passed),
                "failed": generated,
            },
        })
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
