//! A build: what it takes, and what it makes.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhost::sandbox::HandlerSpec;
use toolhost::tool::JsonLimits;

use super::build_error::Fault;
use super::kit_cache::KitCache;
use crate::terminal::progress::Progress;

/// How to build the tools of a bundle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BuildOptions<'a> {
    /// The bundle's directory, without links.
    pub(crate) bundle: &'a Path,
    /// The cache of kits.
    pub(crate) kit_cache: &'a KitCache,
    /// The JavaScript engine, if the user chose one.
    pub(crate) engine: Option<Engine>,
    /// Where cargo builds.
    pub(crate) target_dir: TargetDir,
    /// The state root, which has the key of the cache.
    pub(crate) state_root: Option<&'a Path>,
    /// Displays slow work.
    pub(crate) progress: &'a Progress,
}

/// A JavaScript engine that goes into a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// QuickJS: small, and quick to start
    Qjs,
    /// StarlingMonkey: large
    #[value(name = "starlingmonkey")]
    StarlingMonkey,
}

impl Engine {
    /// The name of the engine in the kit.
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
    /// In the user's cache, in one folder for all tools: shared dependencies are compiled once, and a tool
    /// whose workdir is the project cannot write files that the next build would run.
    Cache,
    /// In the directory of `CARGO_TARGET_DIR`.
    FromEnvironment,
}

#[derive(Debug)]
pub(crate) struct BuiltComponent {
    pub(crate) component: Vec<u8>,
    /// The source files, as absolute paths.
    pub(crate) inputs: Vec<PathBuf>,
    /// When the build began: newer source files may differ from those that were built.
    pub(crate) started: SystemTime,
    /// Warnings for the author.
    pub(crate) notes: Vec<Fault>,
    /// What the functions of the tool say of themselves, if the kit knows it.
    pub(crate) exports: Option<Vec<DescribedExport>>,
}

/// What the types and comments of a function say of it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DescribedExport {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The JSON Schema of the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parameters: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    /// Why there are no parameters, if a type of the function cannot be said.
    #[serde(skip_serializing)]
    pub(crate) problem: Option<Fault>,
}

impl From<&HandlerSpec> for DescribedExport {
    /// Loading reports a schema that is not JSON.
    fn from(handler: &HandlerSpec) -> Self {
        let schema = |text: &Option<String>| JsonLimits::SCHEMA.parse(text.as_deref()?).ok();
        Self {
            name: handler.name.to_string(),
            description: handler.description.clone(),
            parameters: schema(&handler.parameters),
            output_schema: schema(&handler.output_schema),
            problem: None,
        }
    }
}
