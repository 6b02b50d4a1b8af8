//! The arguments of `toolhost budgets`.

use std::path::PathBuf;

use clap::Args;

use super::BUNDLE;

#[derive(Debug, Args)]
pub(crate) struct BudgetsArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// The operator's policy, which has the budgets
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print the budgets as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
