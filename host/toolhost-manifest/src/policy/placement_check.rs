//! Checks which tools a policy places on workers.

use toolhost_contract::{ResourceName, ToolErrorCode};

use super::Policy;
use super::rules::Rule;
use super::workers::Placement;
use crate::diagnostic::Diagnostic;
use crate::reader::Findings;

/// What to do about a placement without workers.
const NO_WORKERS: &str = "Add `workers: {nats: {url: \"nats://HOST:4222\"}}`, or remove it.";

/// Refuses placements without workers, and those of tools that need the host while they run.
pub(super) fn check(policy: &Policy, findings: &mut Findings) {
    let of_tools = policy.tools.iter().map(|(name, rule)| (None, name, rule));
    let agents = policy.agents.iter();
    let of_agents = agents.flat_map(|(agent, rules)| {
        let rules = rules.tools.iter();
        rules.map(move |(name, rule)| (Some(agent), name, rule))
    });
    if let Some((message, help)) = fault_of_defaults(policy)
        && let Some(place) = &policy.defaults.place
    {
        let finding = Diagnostic::error(ToolErrorCode::ConfigSchema, place.clone(), message);
        findings.add(finding.with_help(help));
    }
    for (agent, name, rule) in of_tools.chain(of_agents) {
        let agent = agent.map_or("", ResourceName::as_str);
        if let Some((message, help)) = fault(policy, agent, name, rule) {
            let finding =
                Diagnostic::error(ToolErrorCode::ConfigSchema, rule.place.clone(), message);
            findings.add(finding.with_help(help));
        }
    }
}

/// Returns what is wrong with the placement of tools without rules, and what to do.
fn fault_of_defaults(policy: &Policy) -> Option<(String, &'static str)> {
    match policy.defaults.placement {
        None | Some(Placement::Local) => return None,
        Some(Placement::Any | Placement::Label(_)) => {}
    }
    if policy.workers.is_none() {
        let message = "'placement' of 'defaults' names workers, and there are none".to_owned();
        return Some((message, NO_WORKERS));
    }
    let asks = policy.defaults.ask.as_ref();
    asks.is_some_and(|rules| rules.may_ask()).then(|| {
        let message =
            "calls may wait for approval by 'defaults', which only the host can do for them";
        (
            message.to_owned(),
            "Write `placement` for single tools with `ask: never`.",
        )
    })
}

/// Returns what is wrong with the placement of a tool, and what to do.
fn fault(
    policy: &Policy,
    agent: &str,
    name: &ResourceName,
    rule: &Rule,
) -> Option<(String, &'static str)> {
    if rule.repeatable.is_some() && policy.placement(agent, name) == Placement::Local {
        let message = format!("'repeatable' of {name} has no effect, as its calls run in the host");
        return Some((message, "Add `placement: any`, or remove it."));
    }
    if policy.placement(agent, name) == Placement::Local {
        return None;
    }
    if policy.workers.is_none() {
        let message = format!("'placement' of {name} names workers, and there are none");
        return Some((message, NO_WORKERS));
    }
    let asks = || {
        policy
            .ask_rules(agent, name)
            .is_some_and(|rules| rules.may_ask())
    };
    let what = if policy.grants_agents(agent, name) {
        "send requests to other agents"
    } else if policy.callable_tools(agent, name).is_some() {
        "call other tools"
    } else if !policy.oauth_of(agent, name).is_empty() {
        "use the accounts of users"
    } else if asks() {
        "wait for approval"
    } else {
        return None;
    };
    let message = format!("calls of {name} may {what}, which only the host can do for them");
    Some((message, "Write `placement: local` for it."))
}
