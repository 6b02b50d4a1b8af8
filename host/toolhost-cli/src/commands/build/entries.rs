//! Checks the entries that toolhost does not build: each is a component.

use toolhost::ToolErrorCode;
use toolhost::manifest::{Diagnostic, ToolResource};
use toolhost_manifest::bundle::built::Language;
use toolhost_manifest::bundle::package::is_package;
use toolhost_manifest::bundle::{CORE_MODULE_HELP, OpenBundle, OtherFile};

use super::handlers::at;
use crate::toolchains::{BuildError, Fault};

/// Maximum size of a component that is read, in bytes. Larger ones are refused when they are loaded.
const COMPONENT_MAX: u64 = 1 << 30;

/// Returns the Tools with entries that are neither source nor components, with the errors.
pub(super) fn wrong(open: &OpenBundle) -> Vec<(&ToolResource, BuildError)> {
    let tools = open.bundle().tools().iter();
    let others = tools
        .filter(|tool| Language::of(&tool.spec.entry).is_none() && !is_package(&tool.spec.entry));
    let wrong = others.filter_map(|tool| {
        let finding = check(open, tool).err()?;
        let fault = Fault::new(finding.message).next(finding.help);
        Some((tool, BuildError::source(at(fault, Some(&finding.place)))))
    });
    wrong.collect()
}

fn check(open: &OpenBundle, tool: &ToolResource) -> Result<(), Box<Diagnostic>> {
    let entry = open.read_entry(tool, COMPONENT_MAX)?;
    let (name, path) = (&tool.metadata.name, &tool.spec.entry);
    let refusal = |what: &str, help: &str| {
        let message = format!("tool {name}: {path}: {what}");
        let place = open.entry_place(tool);
        let error = Diagnostic::error(ToolErrorCode::ComponentInvalid, place, message);
        Err(Box::new(error.with_help(help)))
    };
    match OtherFile::of("entry".as_ref(), &entry.component) {
        Some(OtherFile::Component) => Ok(()),
        Some(OtherFile::CoreModule) => refusal(
            "the file is a core WebAssembly module, not a component",
            CORE_MODULE_HELP,
        ),
        Some(OtherFile::Source(_) | OtherFile::OtherSource) | None => refusal(
            "the file is not WebAssembly",
            "Name a component, or source code that `toolhost build` builds: see `toolhost build --help`.",
        ),
    }
}
