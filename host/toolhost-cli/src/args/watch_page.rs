//! The arguments of `toolhost watch`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// State roots of processes that run or ran [default: that of --state-root]
    #[arg(value_name = "STATE_ROOT")]
    pub(crate) roots: Vec<PathBuf>,
    /// Bundle file, directory that holds a goondan.yaml, or `base`: its tools can be called by hand, and recorded calls
    /// be replayed with its components
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) bundle: Option<PathBuf>,
    /// The operator's policy: the database of the state root, and for the bundle grants, limits and budgets
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The directory that calls by hand see as `/` [default: the workspace of their instance]
    #[arg(long, value_name = "DIR", requires = "bundle")]
    pub(crate) workdir: Option<PathBuf>,
    /// Listen on an address such as 127.0.0.1:8080 [default: 127.0.0.1:7333, or another port if that is in use]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// File with lines `NAME TOKEN`: who may open the page, and decides as NAME [default: who has the address that is
    /// printed, and decides as the user of this process]
    #[arg(long, value_name = "FILE")]
    pub(crate) approvers: Option<PathBuf>,
}
