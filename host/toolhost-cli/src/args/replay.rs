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

pub(crate) const HELP: &str = "\
Examples:
  toolhost call my-bundle notes__count --args '{\"path\": \"a.txt\"}' --record count.call
  toolhost replay count.call --bundle my-bundle
  toolhost replay count.call --bundle my-bundle --step
  toolhost replay --diff before.call after.call
  toolhost test my-bundle --from count.call     makes a test case of the recording

A replay runs the component of the bundle with the arguments, the context and the limits in FILE. Each host
call of the component gets the answer that was recorded: no file is opened, no request is sent, and no
clock is read. The replay ends at the first host call that differs from the recorded one.

If the component differs from the recorded one, a warning names both digests, and the replay goes on: a
changed component may behave as before.

A recording of a failed call that the host kept by itself (failed/*.call) has no host calls,
and cannot be replayed: make the call again with --record. It can be compared with --diff.

With --step, each host call is printed. On a terminal the replay waits for Enter before it goes on; type q
to end it. With --json each host call is a line of JSON.

docs/recordings.md describes the file.

With --json: {\"same\", \"tool\", \"component\": {\"recorded\", \"current\", \"changed\"}, \"hostCalls\", \"result\",
\"recorded\", \"divergence\"?: {\"index\", \"function\", \"expected\", \"actual\"}}; with --diff {\"same\",
\"differences\": [{\"what\", \"left\", \"right\"}], \"divergence\"?}.

Exit codes: 0 the result has the same bytes; with --diff: no difference · 1 it differs ·
2 a file cannot be read, or the bundle does not load";
