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

pub(crate) const HELP: &str = "\
Examples:
  toolhost docs my-bundle                            writes tools.html
  toolhost docs my-bundle --policy policy.yaml -o public/index.html
  toolhost docs my-bundle --agent coder -o - > coder.html

The page is one file of HTML without scripts, images and links to other servers. For each tool it has the
description, the arguments, an example call, what the tool can reach under the policy, and its limits; for
each component the digest, the signer of its package, the size, and the interfaces that it imports and exports.

The example is the first case in tests/ that calls the tool and expects success; where there is none, its
arguments are generated from the schema. The same bundle and policy give the same page.

A file that is there is replaced only if `toolhost docs` has written it.

Exit codes: 0 written · 2 the bundle does not load, or the file cannot be written";
