//! The results of a run, and their JSON.

mod junit;
mod update;

use std::time::Duration;

use serde_json::{Value, json};

use crate::case_files::CaseFiles;
use crate::case_report::{CaseReport, Verdict, milliseconds};
use crate::generate::LeftOut;

pub use update::FileUpdate;

/// The results of a run.
#[derive(Debug)]
pub struct Report {
    /// The seed of generated arguments.
    pub seed: u64,
    /// Each case that ran, in the order planned.
    pub cases: Vec<CaseReport>,
    /// How many planned cases were not started, after one had failed.
    pub not_run: usize,
    /// How long the run took.
    pub took: Duration,
    /// What the generated cases leave out.
    pub left_out: Vec<LeftOut>,
}

impl Report {
    /// Whether a case failed.
    pub fn has_failed(&self) -> bool {
        let mut cases = self.cases.iter();
        cases.any(|case| case.verdict() == Verdict::Failed)
    }

    /// The cases of case files.
    pub fn written(&self) -> impl Iterator<Item = &CaseReport> + Clone {
        self.cases.iter().filter(|case| !case.case.is_generated())
    }

    /// The cases generated from schemas.
    pub fn generated(&self) -> impl Iterator<Item = &CaseReport> + Clone {
        self.cases.iter().filter(|case| case.case.is_generated())
    }

    /// Returns the report for programs: every written case, and each generated case that failed.
    pub fn to_json(&self) -> Value {
        let failed = |case: &&CaseReport| case.verdict() == Verdict::Failed;
        let written = |verdict| count(self.written(), verdict);
        let generated: Duration = self.generated().map(|case| case.took).sum();
        json!({
            "ok": !self.has_failed(),
            "passed": written(Verdict::Passed),
            "failed": written(Verdict::Failed),
            "updated": written(Verdict::Updated),
            "notRun": self.not_run,
            "ms": milliseconds(self.took),
            "cases": self.written().map(CaseReport::to_json).collect::<Vec<_>>(),
            "generated": {
                "seed": self.seed,
                "ms": milliseconds(generated),
                "passed": count(self.generated(), Verdict::Passed),
                "failed": self.generated().filter(failed).map(CaseReport::to_json).collect::<Vec<_>>(),
                "leftOut": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
            },
        })
    }

    /// Returns the report as JUnit XML: a suite for each case file, and one for generated cases.
    pub fn to_junit(&self) -> String {
        junit::xml(&self.cases, self.took)
    }

    /// Changes failed cases so that they expect the actual results, and marks them as updated. Returns the
    /// new texts of the case files.
    pub fn accept_results(&mut self, files: &CaseFiles) -> Vec<FileUpdate> {
        update::accept(files, &mut self.cases)
    }
}

fn left_out(left_out: &LeftOut) -> Value {
    json!({"tool": left_out.tool, "count": left_out.count, "timeIsUp": left_out.is_late})
}

fn count<'r>(cases: impl Iterator<Item = &'r CaseReport>, verdict: Verdict) -> usize {
    cases.filter(|case| case.verdict() == verdict).count()
}
