//! `toolhost check`: checks that a bundle loads, and that model providers take its tools.

mod providers;

use serde_json::{Value, json};
use toolhost::manifest::{Diagnostic, YamlSource};
use toolhost::{Agent, LoadedBundle, ToolName};

use crate::args::CheckArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::{HostContext, StateRoot};
use crate::settings::Settings;
use crate::terminal::{diagnostics, stderr, stdout, text};

pub(crate) async fn check(args: &CheckArgs, settings: &Settings) -> Result<Exit, Failure> {
    match load(args, settings).await {
        Ok(checked) if args.json => {
            stdout::json(&as_json(&checked))?;
            Ok(Exit::Done)
        }
        Ok(checked) => {
            let remarks = diagnostics::render(&checked.remarks, &checked.sources, settings.style);
            if !remarks.is_empty() {
                stderr::write(&remarks);
            }
            match &args.call {
                None => stdout::write(&summary(&checked))?,
                Some(tool) => stdout::write(&decisions(&checked, tool, args).await?)?,
            }
            Ok(Exit::Done)
        }
        Err(failure) => {
            // Findings are the result of the command.
            let exit = if failure.findings.is_empty() {
                failure.exit
            } else {
                Exit::Refused
            };
            if args.json {
                let mut json = failure.to_json();
                stdout::set(&mut json, "agents", json!([]));
                stdout::json(&json)?;
            } else {
                failure.print(settings.style);
            }
            Ok(exit)
        }
    }
}

/// Returns what the policy says of a call of a tool, for each agent that has it.
async fn decisions(checked: &Checked, tool: &str, args: &CheckArgs) -> Result<String, Failure> {
    let name = ToolName::parse(tool)?;
    let call = args.args.read().await?.into();
    let servers = checked.bundle.mcp_servers();
    // Servers are not started: what tools they have is not known.
    let serves = |agent: &Agent| {
        let mut servers = servers.iter();
        servers.any(|server| {
            server.resource.metadata.name == *name.resource()
                && server.agents.iter().any(|of| of == agent.name())
        })
    };
    let agents = checked.bundle.agents().iter();
    let with_tool = agents.filter(|agent| agent.catalog().get(tool).is_some() || serves(agent));
    let lines = with_tool.map(|agent| {
        let decision = agent.ask_decision(&name, &call);
        let decision =
            decision.unwrap_or_else(|| "allowed, as the policy has no `ask` for it".to_owned());
        let (agent, tool) = (text::line(agent.name()), text::line(tool));
        format!("{agent} {tool}: {}", text::line(&decision))
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        let error = anyhow::anyhow!("no agent has the tool '{}'", text::line(tool));
        return Err(Failure::from(error).hint("`toolhost list` lists the tools of an agent."));
    }
    Ok(lines.join("\n"))
}

/// A bundle without errors.
struct Checked {
    bundle: LoadedBundle,
    /// Warnings and notes.
    remarks: Vec<Diagnostic>,
    sources: Vec<YamlSource>,
}

async fn load(args: &CheckArgs, settings: &Settings) -> Result<Checked, Failure> {
    let context = HostContext::open(settings, args.policy.as_deref(), StateRoot::Optional).await?;
    let bundle = context.load(&args.bundle).await?;
    let mut findings = bundle.diagnostics().to_vec();
    let mut sources = bundle.sources().to_vec();
    sources.extend(context.policy);
    if !args.providers.is_empty() {
        let file = manifest(&bundle);
        let refusals = providers::findings(&bundle, &args.providers, &file, settings).await?;
        findings.extend(refusals);
    }
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    if errors > 0 {
        let (file, errors) = (manifest(&bundle), text::counted(errors, "error"));
        let error = anyhow::anyhow!("{file} has {errors} for model providers");
        let hint = "Correct the errors above: a provider refuses every request with such a tool.";
        return Err(Failure::of_files(error, findings, sources).hint(hint));
    }
    Ok(Checked {
        bundle,
        remarks: findings,
        sources,
    })
}

/// The name of the bundle's file.
fn manifest(bundle: &LoadedBundle) -> String {
    text::line(bundle.sources().first().map_or("", YamlSource::name))
}

fn as_json(
    Checked {
        bundle, remarks, ..
    }: &Checked,
) -> Value {
    let exports = |name: &str| -> Vec<String> {
        let mut tools = bundle.bundle().tools().iter();
        let tool = tools.find(|tool| tool.metadata.name.as_str() == name);
        let exports = tool.iter().flat_map(|tool| &tool.spec.exports);
        let exports = exports.map(|export| format!("{name}__{}", export.name));
        exports.collect()
    };
    let tools = bundle.components().iter().map(|(name, facts)| {
        json!({"name": name, "bytes": facts.bytes, "sha256": facts.sha256, "exports": exports(name)})
    });
    let agents = bundle.agents().iter().map(toolhost::Agent::name);
    let granted: Vec<&str> = bundle.oauth_apps().map(|app| app.name.as_str()).collect();
    let apps = bundle.bundle().oauth_apps().iter().map(|(app, _)| {
        let (name, spec) = (app.metadata.name.as_str(), &app.spec);
        json!({
            "name": name,
            "flow": spec.flow,
            "subjectMode": spec.subject_mode,
            "scopes": spec.scopes,
            "origins": spec.origins,
            "granted": granted.contains(&name),
        })
    });
    json!({
        "ok": true,
        "diagnostics": remarks,
        "tools": tools.collect::<Vec<_>>(),
        "agents": agents.collect::<Vec<_>>(),
        "oauthApps": apps.collect::<Vec<_>>(),
    })
}

fn summary(
    Checked {
        bundle, remarks, ..
    }: &Checked,
) -> String {
    let tools = bundle.bundle().tools();
    let exports = tools.iter().map(|tool| tool.spec.exports.len());
    let mut parts = vec![
        text::counted(tools.len(), "tool"),
        text::counted(exports.sum::<usize>(), "export"),
        text::counted(bundle.bundle().agents().len(), "agent"),
    ];
    let apps = bundle.bundle().oauth_apps().len();
    if apps > 0 {
        parts.push(text::counted(apps, "OAuthApp"));
    }
    if !remarks.is_empty() {
        parts.push(text::counted(remarks.len(), remark_word(remarks)));
    }
    format!("{}: ok: {}", manifest(bundle), parts.join(", "))
}

fn remark_word(remarks: &[Diagnostic]) -> &'static str {
    let warns = |remark: &Diagnostic| remark.severity == toolhost::manifest::Severity::Warning;
    match (remarks.iter().all(warns), remarks.iter().any(warns)) {
        (true, _) => "warning",
        (false, true) => "remark",
        (false, false) => "note",
    }
}
