//! The arguments of `toolhost lock`.

use std::path::PathBuf;

use clap::Args;

use super::bundle::BUNDLE;

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// Bundle file, or directory that holds a goondan.yaml
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// The operator's policy: the lock has its grants and limits
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Write nothing: compare, and exit with 1 if something differs or a review has expired
    #[arg(long, conflicts_with = "update")]
    pub(crate) check: bool,
    /// Write the entry of this Tool or MCP server alone
    #[arg(long, value_name = "NAME")]
    pub(crate) update: Option<String>,
    /// Print the differences as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
