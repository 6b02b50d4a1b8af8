//! The option `--policy`, which many commands have.

use std::path::PathBuf;

use super::{ApprovalsAction, AuthAction, Command, WorkersAction};

impl Command {
    /// The option `--policy` of a command that works without one.
    pub(crate) fn policy_mut(&mut self) -> Option<&mut Option<PathBuf>> {
        match self {
            Self::Check(args) => Some(&mut args.policy),
            Self::List(args) => Some(&mut args.policy),
            Self::Search(args) => Some(&mut args.policy),
            Self::Docs(args) => Some(&mut args.policy),
            Self::Call(args) => Some(&mut args.caller.policy),
            Self::Poll(args) | Self::Cancel(args) => Some(&mut args.caller.policy),
            Self::Watch(args) => Some(&mut args.policy),
            Self::Instances(args) => Some(&mut args.policy),
            Self::Budgets(args) => Some(&mut args.policy),
            Self::Play(args) => Some(&mut args.policy),
            Self::Script(args) => Some(&mut args.caller.policy),
            Self::Rpc(args) => Some(&mut args.policy),
            Self::Serve(args) | Self::Dev(args) => Some(&mut args.policy),
            Self::Worker(args) => Some(&mut args.policy),
            Self::Workers(args) => Some(match &mut args.action {
                Some(WorkersAction::Drain(args)) => &mut args.carrier.policy,
                None => &mut args.carrier.policy,
            }),
            Self::Test(args) => Some(&mut args.policy),
            Self::Lock(args) => Some(&mut args.policy),
            Self::Publish(args) => Some(&mut args.policy),
            Self::Add(args) => Some(&mut args.policy),
            Self::Update(args) => Some(&mut args.policy),
            Self::Vendor(args) => Some(&mut args.policy),
            Self::Sign(args) => Some(&mut args.policy),
            Self::Verify(args) => Some(&mut args.policy),
            Self::Approvals(args) => match &mut args.action {
                Some(ApprovalsAction::Show(args)) => Some(&mut args.policy),
                None => Some(&mut args.policy),
            },
            Self::Approve(args) | Self::Deny(args) => Some(&mut args.policy),
            Self::Auth(args) => match &mut args.action {
                AuthAction::Ls(args) => Some(&mut args.policy),
                AuthAction::Login(_) | AuthAction::Revoke(_) => None,
            },
            Self::New(_)
            | Self::Build(_)
            | Self::Calls(_)
            | Self::Replay(_)
            | Self::Undo(_)
            | Self::Mcp(_)
            | Self::Inspect(_)
            | Self::Wit(_)
            | Self::Component(_)
            | Self::Backup(_)
            | Self::Cache(_)
            | Self::Doctor(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Resume(_) => None,
        }
    }
}
