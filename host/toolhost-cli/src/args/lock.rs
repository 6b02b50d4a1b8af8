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

pub(crate) const HELP: &str = "\
Examples:
  toolhost lock my-bundle --policy policy.yaml
  toolhost lock --check my-bundle --policy policy.yaml     in CI
  toolhost lock --update notes my-bundle --policy policy.yaml

Writes toolhost.lock beside the manifest. For each Tool: the digest, imports and exports of its component, its
descriptions and schemas, and its grants and limits. For each MCP server that the policy grants: the descriptions and
schemas of its tools; the server is started to list them. Commit the file. From then on the bundle loads only if
nothing differs, as far as the policy's key `lock` says so. docs/lock.md describes the file and the grades of
differences.

Prints what differs from the lock that was there, the gravest first.

With --json: {\"same\", \"drifts\": [{\"name\", \"what\", \"grade\", \"before\"?, \"after\"?}], \"expired\": [NAME]}.

Exit codes: 0 written; with --check: nothing differs · 1 with --check: something differs, or a review has expired ·
2 the bundle does not load, or the lock cannot be read or written";
