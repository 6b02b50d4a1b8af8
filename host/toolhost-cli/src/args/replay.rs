//! The arguments of `toolhost replay`.

use std::path::PathBuf;

use clap::Args;

use super::bundle::BUNDLE;

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The recording: a file of `toolhost call --record`, or of `failed/` in the directory of an instance
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// With --diff: the recording to compare with
    #[arg(value_name = "OTHER", requires = "diff")]
    pub(crate) other: Option<PathBuf>,
    /// Bundle file, or directory that holds a goondan.yaml, whose component is run
    #[arg(long, value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// Print each host call, and wait for Enter on a terminal
    #[arg(long, conflicts_with = "diff")]
    pub(crate) step: bool,
    /// Compare two recordings in place of a replay
    #[arg(long, requires = "other", conflicts_with = "bundle")]
    pub(crate) diff: bool,
    /// Print the report as JSON; with --step also each host call, a line each
    #[arg(long)]
    pub(crate) json: bool,
}
