//! What a policy says about a tool and about an agent.

use std::collections::BTreeMap;

use toolhost_contract::{ResourceName, WorkdirAccess};

use super::http::HttpRules;
use super::limits::LimitChanges;
use super::variable::Environment;
use crate::diagnostic::Place;

/// What is said about one tool.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) place: Place,
    pub(super) limits: LimitChanges,
    pub(super) env: Option<Environment>,
    pub(super) http: Option<HttpRules>,
    pub(super) workdir: Option<WorkdirAccess>,
    /// Whether it may talk to other agents.
    pub(super) agents: Option<bool>,
}

/// What is said about one agent.
#[derive(Debug, Clone)]
pub(super) struct AgentRules {
    pub(super) place: Place,
    pub(super) tools: BTreeMap<ResourceName, Rule>,
}
