//! `toolhost check`: checks that a bundle loads.

use serde_json::{Value, json};
use toolhost::LoadedBundle;
use toolhost::manifest::{Diagnostic, YamlSource};

use crate::args::CheckArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::{HostContext, StateRoot};
use crate::settings::Settings;
use crate::terminal::{diagnostics, stderr, stdout, text};

pub(crate) async fn check(args: &CheckArgs, settings: &Settings) -> Result<Exit, Failure> {
    match load(args, settings).await {
        Ok((_, bundle)) if args.json => {
            stdout::json(&as_json(&bundle))?;
            Ok(Exit::Done)
        }
        Ok((context, bundle)) => {
            let mut sources = bundle.sources().to_vec();
            sources.extend(context.policy);
            let remarks = diagnostics::render(bundle.diagnostics(), &sources, settings.style);
            if !remarks.is_empty() {
                stderr::write(&remarks);
            }
            stdout::write(&summary(&bundle))?;
            Ok(Exit::Done)
        }
        Err(failure) => {
            // Findings are the result of the command.
            let exit = match failure.findings.is_empty() {
                true => failure.exit,
                false => Exit::Refused,
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

async fn load(
    args: &CheckArgs,
    settings: &Settings,
) -> Result<(HostContext, LoadedBundle), Failure> {
    let context = HostContext::open(settings, args.policy.as_deref(), StateRoot::Optional).await?;
    let bundle = context.load(&args.bundle).await?;
    Ok((context, bundle))
}

fn as_json(bundle: &LoadedBundle) -> Value {
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
        "diagnostics": bundle.diagnostics(),
        "tools": tools.collect::<Vec<_>>(),
        "agents": agents.collect::<Vec<_>>(),
        "oauthApps": apps.collect::<Vec<_>>(),
    })
}

fn summary(bundle: &LoadedBundle) -> String {
    let tools = bundle.bundle().tools();
    let exports = tools.iter().map(|tool| tool.spec.exports.len());
    let remarks = bundle.diagnostics().len();
    let mut parts = vec![
        text::counted(tools.len(), "tool"),
        text::counted(exports.sum::<usize>(), "export"),
        text::counted(bundle.bundle().agents().len(), "agent"),
    ];
    let apps = bundle.bundle().oauth_apps().len();
    if apps > 0 {
        parts.push(text::counted(apps, "OAuthApp"));
    }
    if remarks > 0 {
        parts.push(text::counted(remarks, remark_word(bundle.diagnostics())));
    }
    let manifest = bundle.sources().first().map_or("", YamlSource::name);
    format!("{}: ok: {}", text::line(manifest), parts.join(", "))
}

fn remark_word(remarks: &[Diagnostic]) -> &'static str {
    let warns = |remark: &Diagnostic| remark.severity == toolhost::manifest::Severity::Warning;
    match (remarks.iter().all(warns), remarks.iter().any(warns)) {
        (true, _) => "warning",
        (false, true) => "remark",
        (false, false) => "note",
    }
}
