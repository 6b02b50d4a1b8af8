//! The arguments of `toolhost docs`.

use std::path::PathBuf;

use clap::Args;

use super::bundle::BUNDLE;

#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// The operator's policy: the page has its grants and limits, and the tools of MCP servers that it grants
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Only the tools of this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The file to write; - writes to stdout
    #[arg(long, short, value_name = "FILE", default_value = "tools.html")]
    pub(crate) output: PathBuf,
}
