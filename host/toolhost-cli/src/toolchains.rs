//! Builds components from source, each language with its kit. Only this part of toolhost runs code of a
//! bundle's author outside a sandbox.

mod build_error;
pub(crate) mod core_module;
mod installed;
mod job;
pub(crate) mod kit;
mod kit_cache;
mod kit_reply;
pub(crate) mod probe;
mod process;
mod python;
mod rust;
mod typescript;

use std::path::{Path, PathBuf};

use toolhost_manifest::bundle::built::Language;

use kit::Kit;
pub(crate) use python::write_editor_types;

pub(crate) use build_error::{BuildError, ErrorCause, Fault};
pub(crate) use installed::{InstalledKit, KitState, installed_kits, outdated_kits};
pub(crate) use job::{BuildOptions, BuiltComponent, DescribedExport, Engine, TargetDir};
pub(crate) use kit_cache::KitCache;
pub(crate) use rust::write_sdk;
pub(crate) use typescript::write_package;

/// Finds the errors that can be found without compiling the sources or running them. Returns the names of the
/// handlers, or `None` if only the component tells them. `entry` is an absolute path without links.
pub(crate) async fn check(
    language: Language,
    entry: &Path,
    options: BuildOptions<'_>,
) -> Result<Option<Vec<String>>, BuildError> {
    match language {
        Language::Rust => rust::check(entry, options).await,
        Language::TypeScript => typescript::check(entry, options).await,
        Language::Python => python::check(entry, options).await,
    }
}

/// Builds a component. `entry` is an absolute path without links.
pub(crate) async fn build(
    language: Language,
    entry: &Path,
    options: BuildOptions<'_>,
) -> Result<BuiltComponent, BuildError> {
    match language {
        Language::Rust => rust::build(entry, options).await,
        Language::TypeScript => typescript::build(entry, options).await,
        Language::Python => python::build(entry, options).await,
    }
}

/// Puts a problem with the schema of an export, at a JSON pointer, at the argument or the field in these sources that it
/// is about, where the language tells.
pub(crate) fn at_argument(
    language: Language,
    entry: &Path,
    sources: &[PathBuf],
    (export, pointer): (&str, &str),
    fault: Fault,
) -> Fault {
    match language {
        Language::Rust => rust::at_argument(entry, sources, (export, pointer), fault),
        Language::TypeScript | Language::Python => fault,
    }
}

/// Identifies the kit and its options, for the stamp of a component.
pub(crate) fn id(language: Language, engine: Option<Engine>) -> String {
    let kit = Kit::of(language).id();
    match engine {
        Some(engine) if language == Language::TypeScript => format!("{kit}+{}", engine.name()),
        _ => kit,
    }
}
