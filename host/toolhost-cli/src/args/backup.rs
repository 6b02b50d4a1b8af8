//! The arguments of `toolhost backup`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The directory to make, outside the state root
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    /// Print what was copied as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
