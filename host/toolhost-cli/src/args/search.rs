//! The arguments of `toolhost search`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use super::bundle::BUNDLE;
use crate::base::is_base;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships [default:
    /// goondan.yaml]
    #[arg(value_name = "BUNDLE")]
    first: String,
    /// What the tool should do, in a few words, or its name
    #[arg(value_name = "QUERY")]
    second: Option<String>,
    /// Most tools to print: 1 to 50
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=50))]
    pub(crate) limit: u8,
    /// The agent; required if the bundle has several
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The operator's policy: MCP servers that it grants are started, and their tools searched
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// How to print the tools
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: HitFormat,
}

/// How hits are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HitFormat {
    /// A table of names and descriptions
    #[default]
    Text,
    /// The tools with their parameters and scores
    Json,
}

impl SearchArgs {
    /// The bundle and the query. A single word is the query.
    pub(crate) fn target(&self) -> Result<(&Path, &str), Failure> {
        let first = Path::new(&self.first);
        match &self.second {
            Some(query) => Ok((first, query)),
            None if is_base(first) => {
                let error = anyhow!("the search has no query: base is a bundle");
                Err(Failure::from(error).hint("toolhost search [BUNDLE] QUERY"))
            }
            None => Ok((Path::new(BUNDLE), &self.first)),
        }
    }
}
