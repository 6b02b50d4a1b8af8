//! The example call of a tool.

use std::collections::HashMap;
use std::path::Path;

use toolhost::{JsonObject, ToolCatalogItem, ToolStatus};
use toolhost_testing::{CaseFiles, CaseFilesError};

use crate::failure::Failure;
use crate::settings::Settings;

/// Longest arguments of an example, in bytes of JSON.
const ARGS_BYTES_MAX: usize = 2_000;

/// Where the arguments of an example come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The first case of the bundle that calls the tool and expects success.
    Case,
    /// The schema.
    Schema,
}

/// An example call.
#[derive(Debug, Clone)]
pub(super) struct Example {
    /// The arguments, as JSON on one line.
    pub(super) args: String,
    pub(super) origin: Origin,
}

/// The arguments of the first successful case of each tool.
pub(super) type CaseArgs = HashMap<String, JsonObject>;

/// Reads them from the case files of the bundle. Notes files that cannot be read.
pub(super) async fn of_cases(bundle: &Path, settings: &Settings) -> Result<CaseArgs, Failure> {
    let bundle = bundle.to_owned();
    let case_files = tokio::task::spawn_blocking(move || CaseFiles::read(&bundle));
    let case_files = case_files.await?;
    Ok(match case_files {
        Ok(files) => first_successful(&files),
        Err(error) => {
            note(&error, settings);
            CaseArgs::new()
        }
    })
}

fn note(error: &CaseFilesError, settings: &Settings) {
    settings.note(&format!(
        "the page has no examples of the case files: {error}; `toolhost test` has the details"
    ));
}

fn first_successful(files: &CaseFiles) -> CaseArgs {
    let mut first = CaseArgs::new();
    for case in files.all().iter().flat_map(|(_, file)| file.cases()) {
        let succeeds = case.search.is_none() && case.expect.status() == ToolStatus::Ok;
        if succeeds && !first.contains_key(&case.tool) {
            first.insert(case.tool.clone(), case.args.clone());
        }
    }
    first
}

/// Returns the example of a tool. Returns none if no arguments are found that are short enough.
pub(super) fn of(tool: &ToolCatalogItem, cases: &CaseArgs) -> Option<Example> {
    let of_case = cases.get(tool.name.as_str()).cloned();
    let of_case = of_case.map(|args| (args, Origin::Case));
    let of_schema = || toolhost_testing::example_arguments(tool).map(|args| (args, Origin::Schema));
    let (args, origin) = of_case.or_else(of_schema)?;
    let args = serde_json::to_string(&args).ok()?;
    (args.len() <= ARGS_BYTES_MAX).then_some(Example { args, origin })
}
