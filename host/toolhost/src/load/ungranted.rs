//! Compares what components import with what the policy grants them.

use toolhost_contract::{Denial, ToolErrorCode, ToolResource};
use toolhost_sandbox::PreparedTool;

use toolhost_manifest::bundle::built::Language;
use toolhost_manifest::bundle::{Diagnostic, IMPLICIT_AGENT, OpenBundle};
use toolhost_manifest::policy::Policy;

/// The import for using other agents.
const AGENTS: &str = "goondan:tool/agents@";

/// The import for sending HTTP requests.
const HTTP: &str = "wasi:http/outgoing-handler@";

/// The import for reading environment variables.
const ENVIRONMENT: &str = "wasi:cli/environment@";

/// The imports for creating a socket or looking up a name.
const NETWORK: [(&str, Denial); 3] = [
    ("wasi:sockets/ip-name-lookup@", Denial::NetworkDns),
    ("wasi:sockets/tcp-create-socket@", Denial::NetworkTcp),
    ("wasi:sockets/udp-create-socket@", Denial::NetworkUdp),
];

/// Returns a finding for each import that the policy grants under none of the bundle's agents: a warning
/// if a policy could grant it, a note if none can; and a warning for each grant that the component cannot use.
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
    let warning = |message: String, help: String| {
        Diagnostic::warning(ToolErrorCode::Denied, place(), message).with_help(help)
    };
    let mut agents: Vec<&str> = open
        .bundle()
        .agents()
        .iter()
        .map(|agent| agent.metadata.name.as_str())
        .collect();
    if agents.is_empty() {
        agents.push(IMPLICIT_AGENT);
    }
    let uses_agents = agents.iter().any(|agent| policy.grants_agents(agent, name));
    let uses_http = agents.iter().any(|agent| policy.grants_http(agent, name));
    let has_env = |agent: &&str| {
        let (mut grants, _) = policy.resolve(agent, name);
        policy.resolve_credentials(agent, name).add_to(&mut grants);
        !grants.env.is_empty()
    };
    let grants = [
        (AGENTS, uses_agents, "other agents", "agents: true"),
        (
            HTTP,
            uses_http,
            "HTTP",
            "http: {allow: [\"GET https://api.example.com/*\"]}",
        ),
    ];
    let mut findings = Vec::new();
    for (import, is_granted, what, line) in grants {
        if is_granted || !imports_any(import) {
            continue;
        }
        let message = format!("tool {name}: it imports {what}, which the policy does not grant");
        let help = format!("Write `tools: {{{name}: {{{line}}}}}` in the policy to grant it.");
        findings.push(warning(message, help));
    }
    let unused = [
        (AGENTS, uses_agents, "agents", "asks no other agents"),
        (HTTP, uses_http, "http", "sends no HTTP requests"),
        (
            HTTP,
            agents
                .iter()
                .any(|agent| !policy.oauth_of(agent, name).is_empty()),
            "oauth",
            "sends no HTTP requests",
        ),
        (
            ENVIRONMENT,
            agents.iter().any(has_env),
            "env",
            "reads no environment variables",
        ),
    ];
    for (import, is_granted, key, why) in unused {
        if is_granted && !imports_any(import) {
            let message = format!("tool {name}: the policy sets '{key}' for it, and it {why}");
            let help = "Remove the key, or correct the name of the tool.".to_owned();
            findings.push(warning(message, help));
        }
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
