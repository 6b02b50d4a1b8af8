//! Turns sources into components, each language by its kit. This is the only part of toolhost that runs
//! what the author of a bundle wrote outside a sandbox.

mod build_error;
pub(crate) mod kit;
mod kit_cache;
mod kit_reply;
mod process;
mod python;
mod rust;
mod typescript;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::ValueEnum;
use toolhost::bundle::built::Language;

use crate::terminal::progress::Progress;

use kit::Kit;
pub(crate) use python::write_editor_types;

pub(crate) use build_error::{BuildError, ErrorCause, Fault};
pub(crate) use kit_cache::KitCache;
pub(crate) use rust::write_sdk;

/// What is to be built.
#[derive(Debug)]
pub(crate) struct BuildJob<'a> {
    /// The entry, absolute and without links.
    pub(crate) entry: &'a Path,
    /// Where kits are laid out.
    pub(crate) kit_cache: &'a KitCache,
    /// The engine asked for; of TypeScript alone.
    pub(crate) engine: Option<Engine>,
    /// Whether the user says where cargo builds.
    pub(crate) target_dir: TargetDir,
    /// Says what takes long.
    pub(crate) progress: &'a Progress,
}

/// A JavaScript engine that goes into a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// QuickJS: small, and quick to start
    Qjs,
    /// StarlingMonkey: large, with fetch
    #[value(name = "starlingmonkey")]
    StarlingMonkey,
}

impl Engine {
    /// As the kit calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Qjs => "qjs",
            Self::StarlingMonkey => "starlingmonkey",
        }
    }
}

/// Where cargo builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetDir {
    /// In the user's cache, one folder for all tools: what they share is compiled once, and no tool that
    /// is given the project as its workdir finds what the next build would run.
    Cache,
    /// Where `CARGO_TARGET_DIR` says.
    OfTheUser,
}

/// What was built.
#[derive(Debug)]
pub(crate) struct BuiltComponent {
    /// The component.
    pub(crate) component: Vec<u8>,
    /// The files it was built of, absolute.
    pub(crate) inputs: Vec<PathBuf>,
    /// When it began to be built: an input that is newer may not be what it was built of.
    pub(crate) started: SystemTime,
    /// What the author should know.
    pub(crate) notes: Vec<Fault>,
}

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
