//! Annotations of GitHub Actions for failed cases and for findings in files.

use std::path::{Path, PathBuf};

use toolhost::manifest::Diagnostic;
use toolhost_testing::{CaseReport, Mismatch, Report, TestCase, Verdict};

use crate::environment;
use crate::terminal::stderr;
use crate::terminal::workflow::Annotation;

/// Most annotations of a run. GitHub displays ten of a step.
const ANNOTATIONS_MAX: usize = 50;

/// Annotates failed cases at their lines; generated ones at the manifest.
pub(super) fn annotate_failures(report: &Report, bundle: &Path) {
    let failed = report.cases.iter();
    let failed = failed.filter(|case| case.verdict() == Verdict::Failed);
    for case in failed.take(ANNOTATIONS_MAX) {
        stderr::annotate(&of_case(case, bundle));
    }
}

/// Annotates errors in the manifest, the policy or a case file.
pub(super) fn annotate_findings(findings: &[Diagnostic]) {
    let errors = findings.iter().filter(|finding| finding.is_error());
    for finding in errors.take(ANNOTATIONS_MAX) {
        stderr::annotate(&Annotation {
            file: in_workspace(Path::new(&finding.place.file)),
            line: finding.place.position.map(|at| at.line),
            title: finding.code.as_str().to_owned(),
            message: format!("{}\n{}", finding.message, finding.help),
        });
    }
}

fn of_case(report: &CaseReport, bundle: &Path) -> Annotation {
    let mut lines: Vec<String> = report.mismatches.iter().flat_map(Mismatch::lines).collect();
    for (denial, line) in report.policy_lines() {
        lines.push(format!("denied: {denial}; granted by: {line}"));
    }
    let log = report.log.iter();
    lines.extend(
        log.take(10)
            .map(|line| format!("{}: {}", line.level, line.text)),
    );
    let file = match &report.case {
        TestCase::Written { case, .. } => PathBuf::from(&case.place.file),
        TestCase::Generated(_) if bundle.is_dir() => bundle.join("goondan.yaml"),
        TestCase::Generated(_) => bundle.to_owned(),
    };
    Annotation {
        file: in_workspace(&file),
        line: report.case.line(),
        title: report.case.name(),
        message: lines.join("\n"),
    }
}

/// Returns the path from the workspace of the workflow, or as it is if the file is not in there.
fn in_workspace(file: &Path) -> String {
    let workspace = environment::value("GITHUB_WORKSPACE").map(PathBuf::from);
    let workspace = workspace.and_then(|workspace| workspace.canonicalize().ok());
    let real_path = file.canonicalize().ok();
    let inside = real_path.zip(workspace);
    let inside = inside.and_then(|(file, workspace)| {
        let inside = file.strip_prefix(workspace).ok()?;
        Some(inside.to_string_lossy().into_owned())
    });
    inside.unwrap_or_else(|| file.to_string_lossy().into_owned())
}
