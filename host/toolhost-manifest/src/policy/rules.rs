//! The rules of a policy for a tool and for an agent.

use std::collections::BTreeMap;

use toolhost_contract::{ResourceName, WorkdirAccess};

use super::credentials::Credentials;
use super::http::HttpRules;
use super::limits::LimitChanges;
use super::variable::Environment;
use crate::diagnostic::Place;

/// The rules for one tool.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) place: Place,
    pub(super) limits: LimitChanges,
    pub(super) env: Option<Environment>,
    pub(super) http: Option<HttpRules>,
    pub(super) workdir: Option<WorkdirAccess>,
    /// Whether the tool may send messages to other agents.
    pub(super) agents: Option<bool>,
}

impl Rule {
    /// The secrets that the rule names.
    pub(super) fn credentials(&self) -> Credentials {
        let (env, http) = (self.env.as_ref(), self.http.as_ref());
        Credentials {
            env: env.map(Environment::secrets).unwrap_or_default(),
            http: http.map_or_else(Vec::new, |http| http.credentials.clone()),
        }
    }
}

/// The rules for one agent.
#[derive(Debug, Clone)]
pub(super) struct AgentRules {
    pub(super) place: Place,
    pub(super) tools: BTreeMap<ResourceName, Rule>,
}
