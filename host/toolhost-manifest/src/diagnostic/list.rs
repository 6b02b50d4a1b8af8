//! Findings in the order they were found, so many and no more.

use toolhost_contract::ToolErrorCode;

use super::{Diagnostic, Place};

/// Most errors kept, and most remarks; a list of more is not read to its end by anybody.
const FINDINGS_MAX: usize = 1_000;

/// What is wrong with a file and what it names.
#[derive(Debug, Default)]
pub struct DiagnosticList {
    kept: Vec<Diagnostic>,
    errors: usize,
    remarks: usize,
    left_out: usize,
}

impl DiagnosticList {
    /// Adds a finding. Remarks never crowd out errors: a bundle loads where there are none.
    pub fn add(&mut self, finding: Diagnostic) {
        let count = if finding.is_error() {
            &mut self.errors
        } else {
            &mut self.remarks
        };
        if *count < FINDINGS_MAX {
            *count += 1;
            self.kept.push(finding);
        } else {
            self.left_out += 1;
        }
    }

    /// Whether one more error would be left out: then it need not be explained.
    pub fn is_full(&self) -> bool {
        self.errors >= FINDINGS_MAX
    }

    /// Whether nothing loads.
    pub fn holds_errors(&self) -> bool {
        self.errors > 0
    }

    /// Everything kept, and at the end how many were left out.
    pub fn into_vec(mut self, file: &str) -> Vec<Diagnostic> {
        if self.left_out > 0 {
            let place = Place::file(file);
            let message = format!("{} more findings are left out", self.left_out);
            let code = ToolErrorCode::ConfigSchema;
            self.kept.push(Diagnostic::note(code, place, message));
        }
        self.kept
    }
}

impl Extend<Diagnostic> for DiagnosticList {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, findings: T) {
        for finding in findings {
            self.add(finding);
        }
    }
}
