//! Test cases and scripted agents for tools.
//!
//! A [`Runner`] calls the tools of one bundle as the cases of its [`CaseFiles`] say, and as cases
//! generated from the tools' schemas say. Each case runs in a fresh workdir, under the limits and grants
//! of production; HTTP requests are answered by a stub server on loopback. A [`Report`] holds the results.

mod case_files;
mod case_report;
mod planned_case;
mod report;
mod runner;

pub use case_files::{CaseFiles, CaseFilesError};
pub use case_report::{CaseReport, Verdict};
pub use planned_case::{PlannedCase, TestCase};
pub use report::{FileUpdate, Report};
pub use runner::{OpenError, Runner, Selection};
