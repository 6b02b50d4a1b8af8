//! The rules of a policy for a tool and for an agent.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use toolhost_contract::{
    CommitCondition, Grants, ResourceName, ToolPattern, WorkdirAccess, WorkdirChanges,
};

use super::ask::{self, AskRules};
use super::budgets::{self, BudgetRules};
use super::changesets::ChangesetGrant;
use super::credentials::Credentials;
use super::http::{self, HttpRules};
use super::limits::{self, LimitChanges};
use super::named::named;
use super::oauth_apps::{self, ToolOAuthRule};
use super::variable::{Environment, Secrets, read_env};
use super::workers::{Placement, read_placement};
use crate::commit_condition;
use crate::diagnostic::Place;
use crate::reader::{Cursor, Fields, Findings};
use crate::yaml::Value;
use toolhost_contract::suggest::closest;
use toolhost_contract::text::short;

/// Most patterns of `tools`.
const PATTERNS_MAX: usize = 256;

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
    /// The tools that the tool may call.
    pub(super) tools: Option<Arc<[ToolPattern]>>,
    /// The OAuthApps that the tool may use.
    pub(super) oauth: Option<BTreeMap<ResourceName, ToolOAuthRule>>,
    /// Which calls wait for consent.
    pub(super) ask: Option<Arc<AskRules>>,
    /// What its calls may use together.
    pub(super) budgets: BudgetRules,
    /// The price of a call.
    pub(super) cost: Option<u64>,
    /// Where its calls run.
    pub(super) placement: Option<Placement>,
    /// Whether a call whose worker died may run again.
    pub(super) repeatable: Option<bool>,
}

impl Rule {
    pub(super) fn read(fields: &mut Fields<'_, '_>, place: Place, secrets: Secrets<'_>) -> Self {
        Self {
            place,
            limits: fields.read("limits", limits::read).unwrap_or_default(),
            env: fields.read("env", |at, findings| read_env(at, secrets, findings)),
            access: fields.read("readOnly", |at, findings| {
                let access = if at.boolean(findings)? {
                    WorkdirAccess::ReadOnly
                } else {
                    WorkdirAccess::ReadWrite
                };
                Some(access)
            }),
            changes: fields.read("workdir", read_changes),
            commit_when: fields.read("commitWhen", read_commit_rule),
            http: fields.read("http", |at, findings| http::read(at, secrets, findings)),
            agents: fields.read("agents", Cursor::boolean),
            tools: fields.read("tools", read_patterns),
            oauth: fields.read("oauth", |at, findings| {
                named(at, findings, oauth_apps::read_use)
            }),
            ask: fields.read("ask", ask::read).map(Arc::new),
            budgets: fields.read("budgets", budgets::read).unwrap_or_default(),
            cost: fields.read("cost", budgets::read_cost),
            placement: fields.read("placement", read_placement),
            repeatable: fields.read("repeatable", Cursor::boolean),
        }
    }

    /// Sets what it grants, in place of what rules before it granted. A grant without a field of [`Grants`] is a port,
    /// for which [`Policy`](super::Policy) has a function.
    pub(super) fn add_to(&self, grants: &mut Grants, answered_by: Option<SocketAddr>) {
        if let Some(env) = &self.env {
            grants.env.clone_from(&env.plain);
        }
        if let Some(http) = &self.http {
            grants.http = http.grant(answered_by);
        }
        grants.workdir = self.access.unwrap_or(grants.workdir);
    }
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
    pub(super) place: Option<Place>,
    pub(super) limits: LimitChanges,
    pub(super) changes: Option<WorkdirChanges>,
    pub(super) ask: Option<Arc<AskRules>>,
    pub(super) placement: Option<Placement>,
}

impl Defaults {
    pub(super) fn read(at: &Cursor<'_>, findings: &mut Findings) -> Option<Self> {
        let place = Some(findings.place(at));
        at.mapping(findings, |fields| {
            Some(Self {
                place,
                limits: fields.read("limits", limits::read).unwrap_or_default(),
                changes: fields.read("workdir", read_changes),
                ask: fields.read("ask", ask::read).map(Arc::new),
                placement: fields.read("placement", read_placement),
            })
        })
    }
}

fn read_changes(at: &Cursor<'_>, findings: &mut Findings) -> Option<WorkdirChanges> {
    let text = at.text(findings)?;
    let mut kinds = WorkdirChanges::ALL.into_iter();
    if let Some(changes) = kinds.find(|changes| changes.as_str() == text) {
        return Some(changes);
    }
    let names = WorkdirChanges::ALL.map(WorkdirChanges::as_str);
    let help = closest(text, &names).map(|close| format!("; did you mean '{close}'?"));
    let message = format!(
        "workdir must be 'direct', 'transactional' or 'durable', not '{}'{}",
        short(text),
        help.unwrap_or_default()
    );
    at.refuse(message, findings)
}

fn read_patterns(at: &Cursor<'_>, findings: &mut Findings) -> Option<Arc<[ToolPattern]>> {
    let mut patterns = Vec::new();
    for at in at.items_up_to(PATTERNS_MAX, findings)? {
        let text = at.text(findings)?;
        match ToolPattern::parse(text) {
            Ok(pattern) => patterns.push(pattern),
            Err(error) => {
                let message = format!("'{}' names no tool: {error}", short(text));
                return at.refuse(message, findings);
            }
        }
    }
    Some(patterns.into())
}

fn read_commit_rule(at: &Cursor<'_>, findings: &mut Findings) -> Option<CommitRule> {
    let Value::Text(text) = &at.node.value else {
        return commit_condition::read(at, findings).map(CommitRule::If);
    };
    if text == "always" {
        return Some(CommitRule::Always);
    }
    let message = format!(
        "commitWhen must be 'always', or such as {{pointer: /exitCode, equals: 0}}, not '{}'",
        short(text)
    );
    at.refuse(message, findings)
}

/// The rules for an agent.
#[derive(Debug, Clone)]
pub(super) struct AgentRules {
    pub(super) place: Place,
    pub(super) tools: BTreeMap<ResourceName, Rule>,
    /// The files of its own bundle that it may change.
    pub(super) changesets: Option<ChangesetGrant>,
    /// What the calls of all its tools may use together.
    pub(super) budgets: BudgetRules,
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
