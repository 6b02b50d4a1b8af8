//! What a tool of an agent can reach, in sentences.

use toolhost_contract::{ToolCatalogItem, WorkdirChanges};

use crate::agent::Agent;
use crate::registry::Runs;

/// The import of a component that sends HTTP requests.
const HTTP: &str = "wasi:http/outgoing-handler@";

impl Agent {
    /// Returns what a tool can reach under the policy, a sentence each: for people who choose or watch tools.
    pub fn access_in_words(&self, item: &ToolCatalogItem) -> Vec<String> {
        let Some(access) = self.tool_access(item.name.as_str()) else {
            return vec![
                "It runs outside the sandbox, and its access is not limited by it.".to_owned(),
            ];
        };
        let (name, tool, policy) = (self.name(), item.name.resource(), &self.0.host.policy);
        let (grants, _) = policy.resolve(name, tool);
        let mut sentences = Vec::new();
        let (files, writes) = (access.files, access.writes_files);
        sentences.push(match (files, writes) {
            (false, _) => "No files.".to_owned(),
            (true, false) => "Reads files of the workdir, and changes none.".to_owned(),
            (true, true) => {
                let when = if policy.workdir_changes(name, tool) == WorkdirChanges::Direct {
                    ""
                } else {
                    " Changes are kept only if the call succeeds."
                };
                format!("Reads and changes files of the workdir.{when}")
            }
        });
        let http = grants.http.as_deref().filter(|_| access.network);
        let imports_http = self.imports_http(item.name.as_str());
        sentences.push(match http {
            None if imports_http => {
                "No network: it can send HTTP requests, and the policy allows none.".to_owned()
            }
            None => "No network.".to_owned(),
            Some(http) => {
                let rules: Vec<String> = http.allow.iter().map(ToString::to_string).collect();
                format!("HTTP requests: {}.", rules.join(", "))
            }
        });
        if let Some(http) = http
            && !http.private_networks.is_empty()
        {
            let blocks = http.private_networks.iter().map(ToString::to_string);
            let blocks: Vec<String> = blocks.collect();
            sentences.push(format!("Private addresses: {}.", blocks.join(", ")));
        }
        let accounts = policy.oauth_of(name, tool);
        if access.network && !accounts.is_empty() {
            let apps: Vec<&str> = accounts.iter().map(|grant| grant.app.as_str()).collect();
            sentences.push(format!("Accounts of users, by OAuth: {}.", apps.join(", ")));
        }
        if !grants.env.is_empty() {
            let names: Vec<&str> = grants.env.iter().map(|(name, _)| name.as_str()).collect();
            sentences.push(format!("Environment variables: {}.", names.join(", ")));
        }
        if access.agents {
            sentences.push("Sends requests to other agents.".to_owned());
        }
        if access.tools {
            let patterns = policy.callable_tools(name, tool).into_iter();
            let patterns: Vec<String> = patterns
                .flat_map(|it| it.iter())
                .map(ToString::to_string)
                .collect();
            sentences.push(format!("Calls tools: {}.", patterns.join(", ")));
        }
        if self.tool_can_wait(item.name.as_str()) {
            sentences.push("Its calls may wait for the approval of a person.".to_owned());
        }
        sentences
    }

    /// Whether the component of a tool can send HTTP requests.
    fn imports_http(&self, tool: &str) -> bool {
        let registry = self.0.tools.registry();
        let tool = registry.as_ref().and_then(|registry| registry.get(tool));
        tool.is_some_and(|tool| match &tool.runs {
            Runs::Component(component) => {
                let mut imports = component.facts().imports.iter();
                imports.any(|import| import.starts_with(HTTP))
            }
            Runs::Native { .. } | Runs::Catalog { .. } => false,
        })
    }
}
