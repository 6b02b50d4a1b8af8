//! The arguments of `toolhost auth`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::bundle::BUNDLE;

#[derive(Debug, Args)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    pub(crate) action: AuthAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthAction {
    /// Grant an OAuthApp access to an account
    Login(AuthLoginArgs),
    /// List the grants
    Ls(AuthListArgs),
    /// Revoke and remove a grant
    Revoke(AuthRevokeArgs),
}

/// An OAuthApp and a user.
#[derive(Debug, Args)]
pub(crate) struct AppArgs {
    /// Name of the OAuthApp
    #[arg(value_name = "APP")]
    pub(crate) app: String,
    /// The user, for an app with `subjectMode: user`
    #[arg(long, value_name = "USER")]
    pub(crate) subject: Option<String>,
    /// Bundle file, or directory that holds a goondan.yaml
    #[arg(long, value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AuthLoginArgs {
    #[command(flatten)]
    pub(crate) app: AppArgs,
    /// The operator's policy, which grants the app
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// Ask for this scope alone; may be repeated [default: the scopes of the app]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Port for the answer; 0 for a free one [default: 8697, or that of the app's redirect]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) port: Option<u16>,
    /// Seconds to wait for the answer
    #[arg(long, value_name = "NUMBER", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) timeout: u32,
}

#[derive(Debug, Args)]
pub(crate) struct AuthListArgs {
    /// The operator's policy, whose `state` names the database [default: the file in the state root]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print the grants as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuthRevokeArgs {
    #[command(flatten)]
    pub(crate) app: AppArgs,
    /// The operator's policy, which grants the app
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}
