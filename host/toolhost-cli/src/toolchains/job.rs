//! A build: what it takes, and what it makes.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::ValueEnum;

use super::build_error::Fault;
use super::kit_cache::KitCache;
use crate::terminal::progress::Progress;

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
