//! Changes case files so that failed cases expect the actual results.

use std::path::PathBuf;

use toolhost::text;

use crate::case_files::CaseFiles;
use crate::case_report::CaseReport;
use crate::mismatch::Change;
use crate::planned_case::TestCase;

/// The changes to one case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUpdate {
    /// The file.
    pub path: PathBuf,
    /// Its new text, if any case was changed.
    pub text: Option<String>,
    /// How many cases were changed.
    pub cases: usize,
    /// The failed cases that cannot be changed: each with its location and the reason.
    pub refused: Vec<String>,
}

pub(super) fn accept(files: &CaseFiles, reports: &mut [CaseReport]) -> Vec<FileUpdate> {
    let mut updates = Vec::new();
    for (index, (path, file)) in files.all().iter().enumerate() {
        let mut update = FileUpdate {
            path: path.clone(),
            text: None,
            cases: 0,
            refused: Vec::new(),
        };
        let mut changes: Vec<Change> = Vec::new();
        for report in reports.iter_mut().filter(|report| report.failed > 0) {
            let (number, name) = match &report.case {
                TestCase::Written {
                    file,
                    index: number,
                    case,
                } if *file == index => (*number, &case.name),
                TestCase::Written { .. } | TestCase::Generated(_) => continue,
            };
            let location = report.case.location();
            let Some(change) = changes_of(report, number) else {
                update.refused.push(format!(
                    "{location}: '{name}' is not updated: change what it expects of {} by hand",
                    unchangeable(report)
                ));
                continue;
            };
            let with: Vec<Change> = changes.iter().cloned().chain(change).collect();
            match file.edited(&with) {
                Ok(edited) => {
                    update.text = Some(edited.text);
                    update.cases += 1;
                    changes = with;
                    report.updated = true;
                }
                Err(error) => update.refused.push(format!("{location}: {error}")),
            }
        }
        updates.push(update);
    }
    updates
}

/// Lists the expectations of a case that no value can be written for.
fn unchangeable(report: &CaseReport) -> String {
    let fixed = report.mismatches.iter().filter(|one| one.change.is_none());
    let fixed: Vec<&str> = fixed.map(|one| one.what.as_str()).collect();
    text::shorten(&fixed.join(", "), usize::MAX)
}

/// Returns what to write for a case, unless one of its expectations cannot be changed.
fn changes_of(report: &CaseReport, case: usize) -> Option<Vec<Change>> {
    let changes = report.mismatches.iter().map(|mismatch| {
        let change = mismatch.change.clone()?;
        Some(Change { case, ..change })
    });
    changes.collect()
}
