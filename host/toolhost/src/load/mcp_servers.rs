//! Compares the MCP servers of a bundle with what the policy grants.

use toolhost_manifest::DiagnosticList;
use toolhost_manifest::bundle::{Bundle, IMPLICIT_AGENT};
use toolhost_manifest::policy::Policy;

use crate::loaded_bundle::GrantedMcpServer;

/// Returns the servers that the policy grants, and adds a finding for each other one. Nothing is started.
pub(super) fn granted(
    policy: &Policy,
    bundle: &Bundle,
    findings: &mut DiagnosticList,
) -> Vec<GrantedMcpServer> {
    let mut granted = Vec::new();
    for (server, place) in bundle.mcp_servers() {
        let grant = match policy.mcp_server(server, place) {
            Ok(grant) => grant,
            Err(finding) => {
                findings.add(*finding);
                continue;
            }
        };
        let name = &server.metadata.name;
        let agents = bundle.agents().iter();
        let agents = agents.filter(|agent| agent.spec.mcp_servers.contains(name));
        let mut agents: Vec<String> = agents
            .map(|agent| agent.metadata.name.to_string())
            .collect();
        if bundle.agents().is_empty() {
            agents.push(IMPLICIT_AGENT.to_owned());
        }
        granted.push(GrantedMcpServer {
            resource: server.clone(),
            grant,
            agents,
            lock: None,
        });
    }
    granted
}
