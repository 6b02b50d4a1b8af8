//! Turns sources into components, each language by its kit. This is the only part of toolhost that runs
//! what the author of a bundle wrote outside a sandbox.

mod build_error;
mod job;
pub(crate) mod kit;
mod kit_cache;
mod kit_reply;
mod process;
mod python;
mod rust;
mod typescript;

use toolhost::bundle::built::Language;

use kit::Kit;
pub(crate) use python::write_editor_types;

pub(crate) use build_error::{BuildError, ErrorCause, Fault};
pub(crate) use job::{BuildJob, BuiltComponent, Engine, TargetDir};
pub(crate) use kit_cache::KitCache;
pub(crate) use rust::write_sdk;

/// Builds.
pub(crate) async fn build(
    language: Language,
    job: &BuildJob<'_>,
) -> Result<BuiltComponent, BuildError> {
    match language {
        Language::Rust => rust::build(job).await,
        Language::TypeScript => typescript::build(job).await,
        Language::Python => python::build(job).await,
    }
}

/// What builds a language, and how: what a stamp remembers of it.
pub(crate) fn id(language: Language, engine: Option<Engine>) -> String {
    let kit = Kit::of(language).id();
    match engine {
        Some(engine) if language == Language::TypeScript => format!("{kit}+{}", engine.name()),
        _ => kit,
    }
}
