//! Compares what components import with what the policy grants them.

use toolhost_contract::{Denial, ToolErrorCode, ToolResource};
use toolhost_sandbox::PreparedTool;

use toolhost_manifest::bundle::built::Language;
use toolhost_manifest::bundle::{Diagnostic, IMPLICIT_AGENT, OpenBundle};
use toolhost_manifest::policy::Policy;

/// The import for using other agents.
const AGENTS: &str = "goondan:tool/agents@";

/// The import for sending HTTP requests, and an example of a rule that allows one.
const HTTP: &str = "wasi:http/outgoing-handler@";
const HTTP_EXAMPLE: &str = "GET https://api.example.com/*";

/// The imports for creating a socket or looking up a name.
const NETWORK: [(&str, Denial); 3] = [
    ("wasi:sockets/ip-name-lookup@", Denial::NetworkDns),
    ("wasi:sockets/tcp-create-socket@", Denial::NetworkTcp),
    ("wasi:sockets/udp-create-socket@", Denial::NetworkUdp),
];

/// Returns a finding for each import that the policy grants under none of the bundle's agents: a warning
/// if a policy could grant it, a note if none can.
pub(super) fn not_granted(
    policy: &Policy,
    open: &OpenBundle,
    tool: &ToolResource,
    component: &PreparedTool,
) -> Vec<Diagnostic> {
    let name = &tool.metadata.name;
    let imports = &component.facts().imports;
    let imports_any = |start: &str| imports.iter().any(|import| import.starts_with(start));
    let place = || open.entry_place(tool);
    let mut findings = Vec::new();
    let mut agents: Vec<&str> = open
        .bundle()
        .agents()
        .iter()
        .map(|agent| agent.metadata.name.as_str())
        .collect();
    if agents.is_empty() {
        agents.push(IMPLICIT_AGENT);
    }
    let may_use_agents = |agent: &&str| policy.grants_agents(agent, name);
    let may_use_http = |agent: &&str| policy.grants_http(agent, name);
    let grants = [
        (
            imports_any(AGENTS) && !agents.iter().any(may_use_agents),
            Denial::AgentsRequest,
            "other agents",
        ),
        (
            imports_any(HTTP) && !agents.iter().any(may_use_http),
            Denial::HttpRequest(HTTP_EXAMPLE.to_owned()),
            "HTTP",
        ),
    ];
    for (missing, denial, what) in grants {
        let Some(line) = denial.policy_line(name).filter(|_| missing) else {
            continue;
        };
        let message = format!("tool {name}: it imports {what}, which the policy does not grant");
        let warning = Diagnostic::warning(ToolErrorCode::Denied, place(), message);
        findings.push(warning.with_help(format!("Write `{line}` in the policy to grant it.")));
    }
    // Python's standard library imports all of them, whatever the tool does.
    let is_python = Language::of(&tool.spec.entry) == Some(Language::Python);
    let network = NETWORK
        .iter()
        .filter(|(import, _)| !is_python && imports_any(import));
    let network: Vec<String> = network.map(|(_, denial)| denial.to_string()).collect();
    if !network.is_empty() {
        let network = network.join(", ");
        let message =
            format!("tool {name}: it imports interfaces that no policy can grant: {network}");
        let note = Diagnostic::note(ToolErrorCode::Denied, place(), message);
        findings.push(note.with_help("Each use is refused and recorded."));
    }
    findings
}
