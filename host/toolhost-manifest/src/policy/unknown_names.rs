//! Finds the names of a policy that a bundle does not have.

use toolhost_contract::{ResourceName, ToolErrorCode};

use super::{Names, Policy};
use crate::bundle::{Bundle, IMPLICIT_AGENT};
use crate::diagnostic::{Diagnostic, Place};
use toolhost_contract::suggest::did_you_mean;

/// The native tools that runtimes add to every bundle.
const NATIVE_TOOLS: [&str; 2] = ["agents", "changeset"];

/// The names of one kind of resource that a bundle has.
struct Known<'a> {
    kind: &'static str,
    names: Vec<&'a str>,
}

impl Policy {
    /// Returns a finding for each tool, agent, MCP server and OAuthApp of the policy that the bundle does not have, in
    /// the order of the policy: an error, or a warning under `strict: false`. The rules of a misspelt name restrict
    /// nothing.
    pub fn unknown_names(&self, bundle: &Bundle) -> Vec<Diagnostic> {
        let servers = || bundle.mcp_servers().iter().map(|(server, _)| server);
        let of_resources = bundle.tools().iter().map(|tool| &tool.metadata.name);
        let of_servers = servers().map(|server| &server.spec.prefix);
        let tools = of_resources.chain(of_servers).map(ResourceName::as_str);
        let tools = Known {
            kind: "Tool",
            names: tools.chain(NATIVE_TOOLS).collect(),
        };
        let agents = bundle.agents().iter();
        let mut agents = Known {
            kind: "Agent",
            names: agents.map(|agent| agent.metadata.name.as_str()).collect(),
        };
        if agents.names.is_empty() {
            agents.names.push(IMPLICIT_AGENT);
        }
        let servers = Known {
            kind: "McpServer",
            names: servers()
                .map(|server| server.metadata.name.as_str())
                .collect(),
        };
        let apps = bundle.oauth_apps().iter();
        let apps = Known {
            kind: "OAuthApp",
            names: apps.map(|(app, _)| app.metadata.name.as_str()).collect(),
        };
        let of_agents = self.agents.values().flat_map(|agent| &agent.tools);
        let rules = self.tools.iter().chain(of_agents);
        let named_tools = rules.map(|(name, rule)| (&tools, name, &rule.place));
        let named_agents = self.agents.iter();
        let named_agents = named_agents.map(|(name, rules)| (&agents, name, &rules.place));
        let named_servers = self.mcp_servers.iter();
        let named_servers = named_servers.map(|(name, rule)| (&servers, name, &rule.place));
        let named_apps = self.oauth_apps.iter();
        let named_apps = named_apps.map(|(name, rule)| (&apps, name, &rule.place));
        let used_apps = self.all_rules().filter_map(|rule| rule.oauth.as_ref());
        let used_apps = used_apps.flatten();
        let used_apps = used_apps.map(|(name, rule)| (&apps, name, &rule.place));
        let named = named_tools.chain(named_agents).chain(named_servers);
        let named = named.chain(named_apps).chain(used_apps);
        let unknown =
            named.filter_map(|(declared, name, place)| self.unknown(declared, name, place));
        let mut findings: Vec<Diagnostic> = unknown.collect();
        findings.extend(self.unmatched_patterns(bundle));
        findings.sort_by_key(|finding| finding.place.position.map(|at| at.span.offset));
        findings
    }

    /// Returns a warning for each entry of `tools` that can be the name of no tool of the bundle.
    fn unmatched_patterns(&self, bundle: &Bundle) -> Vec<Diagnostic> {
        let exports = bundle.tools().iter().flat_map(|tool| {
            let exports = tool.spec.exports.iter();
            exports.map(|export| format!("{}__{}", tool.metadata.name, export.name))
        });
        let exports: Vec<String> = exports.collect();
        let names: Vec<&str> = exports.iter().map(String::as_str).collect();
        // Their tools are not known before they run.
        let servers = bundle.mcp_servers().iter();
        let servers = servers.map(|(server, _)| server.spec.prefix.as_str());
        let open: Vec<&str> = servers.chain(NATIVE_TOOLS).collect();
        let of_agents = self.agents.values().flat_map(|agent| &agent.tools);
        let mut findings = Vec::new();
        for (tool, rule) in self.tools.iter().chain(of_agents) {
            for pattern in rule.tools.iter().flat_map(|patterns| patterns.iter()) {
                let is_known = names.iter().any(|name| pattern.matches(name));
                if is_known
                    || open
                        .iter()
                        .any(|resource| pattern.may_match_one_of(resource))
                {
                    continue;
                }
                let message =
                    format!("Tool/{tool} may call '{pattern}', which the bundle does not have");
                let code = ToolErrorCode::ConfigRefNotFound;
                let finding = Diagnostic::warning(code, rule.place.clone(), message);
                let similar = pattern.closest(&names);
                findings.push(finding.with_help(match similar {
                    Some(similar) => format!("Did you mean '{similar}'?"),
                    None => "Correct the name, or remove it.".to_owned(),
                }));
            }
        }
        findings
    }

    fn unknown(
        &self,
        declared: &Known<'_>,
        name: &ResourceName,
        place: &Place,
    ) -> Option<Diagnostic> {
        if declared.names.contains(&name.as_str()) {
            return None;
        }
        let code = ToolErrorCode::ConfigRefNotFound;
        let message = format!("{}/{name} is not in the bundle", declared.kind);
        let finding = match self.names {
            Names::OfBundle => Diagnostic::error(code, place.clone(), message),
            Names::OfSeveralBundles => Diagnostic::warning(code, place.clone(), message),
        };
        let help = match (did_you_mean(name.as_str(), &declared.names), self.names) {
            (Some(help), _) => help,
            (None, Names::OfBundle) => {
                "Correct the name, or remove its rules; a policy of several bundles has the line `strict: false`."
                    .to_owned()
            }
            (None, Names::OfSeveralBundles) => "Correct the name, or remove its rules.".to_owned(),
        };
        Some(finding.with_help(help))
    }
}
