//! The rules of a policy for a tool and for an agent.

use std::collections::BTreeMap;

use toolhost_contract::{CommitCondition, ResourceName, WorkdirAccess, WorkdirChanges};

use super::changesets::ChangesetGrant;
use super::credentials::Credentials;
use super::http::HttpRules;
use super::limits::LimitChanges;
use super::oauth_apps::ToolOAuthRule;
use super::variable::Environment;
use crate::diagnostic::Place;

/// The rules for a tool.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) place: Place,
    pub(super) limits: LimitChanges,
    pub(super) env: Option<Environment>,
    pub(super) http: Option<HttpRules>,
    pub(super) access: Option<WorkdirAccess>,
    pub(super) changes: Option<WorkdirChanges>,
    pub(super) commit_when: Option<CommitRule>,
    /// Whether the tool may send messages to other agents.
    pub(super) agents: Option<bool>,
    /// The OAuthApps that the tool may use.
    pub(super) oauth: Option<BTreeMap<ResourceName, ToolOAuthRule>>,
}

/// Which calls of a transaction are committed, of those that succeeded: `commitWhen` in a policy.
#[derive(Debug, Clone)]
pub(super) enum CommitRule {
    /// All, whatever the manifest says.
    Always,
    If(CommitCondition),
}

/// The rules for all tools.
#[derive(Debug, Clone, Default)]
pub(super) struct Defaults {
    pub(super) limits: LimitChanges,
    pub(super) changes: Option<WorkdirChanges>,
}

/// The rules for an agent.
#[derive(Debug, Clone)]
pub(super) struct AgentRules {
    pub(super) place: Place,
    pub(super) tools: BTreeMap<ResourceName, Rule>,
    /// The files of its own bundle that it may change.
    pub(super) changesets: Option<ChangesetGrant>,
}

/// Returns the secrets of rules.
pub(super) fn credentials(env: Option<&Environment>, http: Option<&HttpRules>) -> Credentials {
    Credentials {
        env: env.map(|env| env.secret.clone()).unwrap_or_default(),
        http: http
            .map(|http| http.credentials.clone())
            .unwrap_or_default(),
    }
}
