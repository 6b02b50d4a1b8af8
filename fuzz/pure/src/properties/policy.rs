//! The operator's policy: it grants only what is written, and limits are in their ranges.

use std::time::Duration;

use serde_json::json;
use toolhost_contract::{ResourceName, ToolName};

use super::cost::within;
use super::findings;
use crate::{Grants, Limits, WorkdirAccess};
use toolhost_manifest::Policy;
use toolhost_manifest::bundle::{Bundle, YamlSource};
use toolhost_manifest::policy::{AskRules, AskVerdict};

/// Longest time to read a policy of the fuzzed size.
const READING_MAX: Duration = Duration::from_secs(2);

/// A bundle with names that the policies use.
const BUNDLE: &str = "
apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: bash}
spec: {entry: b.wasm, exports: [{name: exec}]}
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: {name: coder}
spec: {tools: [Tool/bash]}
";

/// Reads a policy and checks the properties.
pub fn hold(text: &str) {
    let source = YamlSource::new("p.yaml", text);
    let read = within(READING_MAX, "reading", || Policy::parse(text, "p.yaml"));
    let again = Policy::parse(text, "p.yaml");
    let policy = match (read, again) {
        (Ok(policy), Ok(_)) => policy,
        (Err(error), Err(again)) => {
            assert_eq!(error, again, "the same text, other findings");
            assert!(!error.diagnostics.is_empty());
            findings::hold(&error.diagnostics, &source);
            return;
        }
        (read, again) => panic!("once {read:?}, once {again:?}"),
    };
    if let Ok(bundle) = Bundle::parse(&YamlSource::new("b.yaml", BUNDLE)) {
        findings::hold(&policy.unknown_names(&bundle), &source);
    }
    for agent in ["coder", "default", "no such name!"] {
        for tool in ["bash", "text"] {
            gives(&policy, agent, tool, text);
        }
    }
}

fn gives(policy: &Policy, agent: &str, tool: &str, text: &str) {
    let Ok(name) = ResourceName::parse(tool) else {
        return;
    };
    let (mut grants, limits) = policy.resolve(agent, &name);
    policy.resolve_credentials(agent, &name).add_to(&mut grants);
    is_within(&limits);
    if let Some(rules) = policy.ask_rules(agent, &name) {
        assert!(text.contains("ask"), "nobody wrote that calls wait");
        asks(rules, tool);
    }
    for (name, value) in &grants.env {
        assert!(!name.is_empty() && !name.contains(['=', '\0']), "{name:?}");
        assert!(!value.contains('\0'), "{value:?}");
    }
    // A grant must occur in the text; an escape or an alias can write it in another form.
    let says = |word: &str| text.contains(word) || text.contains(['\\', '*']);
    if !says(tool) {
        assert_eq!(grants, Grants::none());
        assert!(!policy.grants_agents(agent, &name));
    }
    if !says(tool) || !says("tools") {
        assert!(policy.callable_tools(agent, &name).is_none());
    }
    if !says("env") {
        assert_eq!(grants.env, Grants::none().env);
    }
    if !says("allow") {
        assert_eq!(grants.http, None);
    }
    if !says("readOnly") {
        assert_eq!(grants.workdir, WorkdirAccess::default());
    }
    if !says("limits") {
        assert_eq!(limits, Limits::default());
    }
    if !says("deadlineMs") {
        assert!(!policy.sets_deadline(agent, &name));
    }
    if !says("registryDirectCall") {
        assert!(!policy.registry_direct_call());
    }
}

/// Every value is limited, and not zero if it must not be.
fn is_within(limits: &Limits) {
    const GIB: u64 = 1 << 30;
    let Limits {
        deadline,
        memory_bytes,
        table_elements,
        instances,
        handles,
        hostcall_bytes,
        random_bytes,
        output_bytes,
        json_depth,
        json_values,
        input_bytes,
        stdio_bytes,
        log_records,
        log_record_bytes,
        disk_bytes,
        files,
        workdir_bytes,
        listed_names,
        open_files,
        http_requests,
        http_concurrent,
        http_request_bytes,
        http_response_bytes,
        http_header_bytes,
        http_headers,
        http_connect,
        http_first_byte,
        http_between_bytes,
        tool_calls,
        tool_calls_at_once,
        tool_call_bytes,
    } = limits.clone();
    let is_time = |time: Duration| {
        (
            time >= Duration::from_millis(1),
            time <= Duration::from_secs(86_400),
        )
    };
    let all = [
        is_time(deadline),
        (memory_bytes >= 64 << 10, memory_bytes <= 4 * GIB),
        (true, table_elements <= 100_000),
        (instances >= 1, instances <= 1_000),
        (handles >= 1, handles <= 1_000_000),
        (hostcall_bytes >= 1 << 10, hostcall_bytes as u64 <= GIB),
        (true, random_bytes <= 64 << 20),
        (output_bytes >= 1 << 10, output_bytes <= GIB),
        (json_depth >= 1, json_depth <= 64),
        (json_values >= 1, json_values <= 100_000_000),
        (input_bytes >= 1 << 10, input_bytes <= GIB),
        (true, stdio_bytes <= 64 << 20),
        (true, log_records <= 1_000_000),
        (log_record_bytes >= 64, log_record_bytes <= 1 << 20),
        (true, disk_bytes <= 1024 * GIB),
        (true, files <= 10_000_000),
        (true, workdir_bytes <= 1024 * 1024 * GIB),
        (true, listed_names <= 10_000_000),
        (open_files >= 1, open_files <= 65_536),
        (true, http_requests <= 100_000),
        (http_concurrent >= 1, http_concurrent <= 256),
        (true, http_request_bytes <= 64 * GIB),
        (true, http_response_bytes <= 64 * GIB),
        (http_header_bytes >= 8 << 10, http_header_bytes <= 1 << 20),
        (http_headers >= 1, http_headers <= 1_000),
        is_time(http_connect),
        is_time(http_first_byte),
        is_time(http_between_bytes),
        (true, tool_calls <= 1_000_000),
        (tool_calls_at_once >= 1, tool_calls_at_once <= 256),
        (tool_call_bytes >= 1 << 10, tool_call_bytes <= 64 * GIB),
    ];
    assert!(
        all.iter().all(|(least, most)| *least && *most),
        "{limits:?}"
    );
}

/// A decision is the same each time, and only a rule refuses a call.
fn asks(rules: &AskRules, tool: &str) {
    let Ok(tool) = ToolName::parse(&format!("{tool}__exec")) else {
        return;
    };
    for args in [
        json!({}),
        json!({"path": "docs/../a", "command": ["x", "y"]}),
    ] {
        let decision = rules.decide(&tool, &args);
        assert_eq!(decision.to_string(), rules.decide(&tool, &args).to_string());
        assert!(decision.verdict != AskVerdict::Denied || decision.rule.is_some());
    }
}
