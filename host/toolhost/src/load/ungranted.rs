//! Compares what components import with what the policy grants them.

use toolhost_contract::{Denial, ResourceName, ToolErrorCode, ToolResource};

use toolhost_manifest::bundle::built::Language;
use toolhost_manifest::bundle::{Diagnostic, IMPLICIT_AGENT, OpenBundle};
use toolhost_manifest::policy::Policy;

use crate::catalog::script_language::ScriptLanguage;

/// The imports for creating a socket or looking up a name.
const NETWORK: [(&str, Denial); 3] = [
    ("wasi:sockets/ip-name-lookup@", Denial::NetworkDns),
    ("wasi:sockets/tcp-create-socket@", Denial::NetworkTcp),
    ("wasi:sockets/udp-create-socket@", Denial::NetworkUdp),
];

/// What programs of the command line may do until the policy says it.
const BUT_PROGRAMS: &str = ", but by programs of `toolhost script` and `--tools script`: until the policy has `tools` for \
    javascript or python, these may call every tool";

/// Whether a tool runs programs that may call every tool, as the policy says of no language which.
fn may_call_by_default(policy: &Policy, name: &ResourceName) -> bool {
    let tools = [ScriptLanguage::JavaScript, ScriptLanguage::Python].map(ScriptLanguage::tool);
    let names = tools
        .iter()
        .filter_map(|tool| ResourceName::parse(tool).ok());
    let names: Vec<ResourceName> = names.collect();
    names.contains(name) && !names.iter().any(|tool| policy.grants_tools(tool))
}

/// Returns a finding for each import that the policy grants under none of the bundle's agents: a warning
/// if a policy could grant it, a note if none can; and a warning for each grant that the component cannot use.
pub(super) fn not_granted(
    policy: &Policy,
    open: &OpenBundle,
    tool: &ToolResource,
    imports: &[String],
) -> Vec<Diagnostic> {
    let name = &tool.metadata.name;
    let imports_any = |start: &str| imports.iter().any(|import| import.starts_with(start));
    let place = || open.entry_place(tool);
    let mut agents: Vec<&str> = open
        .bundle()
        .agents()
        .iter()
        .map(|agent| agent.metadata.name.as_str())
        .collect();
    if agents.is_empty() {
        agents.push(IMPLICIT_AGENT);
    }
    let mut findings = Vec::new();
    for grant in Policy::grants() {
        let is_granted = agents.iter().any(|agent| grant.is_set(policy, agent, name));
        let (message, help) = match (imports_any(grant.import), is_granted, grant.needed) {
            (true, false, Some((what, line))) => (
                format!(
                    "tool {name}: it imports {what}, which no policy grants it here: a call that uses it is refused{}",
                    if grant.key == "tools" && may_call_by_default(policy, name) {
                        BUT_PROGRAMS
                    } else {
                        ""
                    }
                ),
                format!("Write `tools: {{{name}: {{{line}}}}}` in the policy to grant it."),
            ),
            (false, true, _) => (
                format!(
                    "tool {name}: the policy sets '{}' for it, and it {}",
                    grant.key, grant.unused
                ),
                "Remove the key, or correct the name of the tool.".to_owned(),
            ),
            (true, true, _) | (true, false, None) | (false, false, _) => continue,
        };
        let warning = Diagnostic::warning(ToolErrorCode::Denied, place(), message);
        findings.push(warning.with_help(help));
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
