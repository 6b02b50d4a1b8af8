//! Test cases and scripted agents for tools.
//!
//! A [`Runner`] calls the tools of one bundle as the cases of its [`CaseFiles`] say, and as cases
//! generated from the tools' schemas say. Each case runs in a fresh workdir, under the limits and grants
//! of production; HTTP requests are answered by a stub server on loopback. A [`Report`] holds the results.

mod case;
mod case_dir;
mod case_file;
mod case_files;
mod case_report;
mod generate;
mod generated_case;
mod judge;
mod mismatch;
mod planned_case;
mod recorded_case;
mod report;
mod runner;
pub mod script;
mod search_case;
mod selection;
mod work_tree;

pub use case::{
    Case, CaseContext, ErrorIs, Expect, FileIs, LogIs, NOTHING, SearchCase, StubResponse, TextIs,
};
pub use case_file::{CaseFile, EditError, Edited};
pub use case_files::{CaseFiles, CaseFilesError};
pub use case_report::{CaseReport, Verdict};
pub use generate::{LeftOut, example_arguments};
pub use generated_case::{GeneratedCase, GeneratedKind};
pub use judge::LogLine;
pub use mismatch::{Change, Mismatch, ValueDifference};
pub use planned_case::{PlannedCase, TestCase};
pub use recorded_case::{RecordedCase, RecordedCaseError};
pub use report::{FileUpdate, Report};
pub use runner::{OpenError, Plan, RunOptions, Runner};
pub use selection::{FileFilter, InvalidShard, NoMatch, PlanError, Selection, Shard};
pub use work_tree::Content;
