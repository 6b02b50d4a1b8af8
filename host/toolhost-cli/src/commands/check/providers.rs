//! What the APIs of model providers refuse of a bundle's tools.

use toolhost::manifest::{Diagnostic, Place, Severity};
use toolhost::tool::{ModelProvider, ProviderFinding};
use toolhost::{Agent, LoadedBundle, ToolErrorCode};

use crate::args::Provider;
use crate::commands::agents::with_all_tools;
use crate::failure::Failure;
use crate::settings::Settings;

/// Returns the findings about the catalogs of all agents, each once: with the tools of the MCP servers that the policy
/// grants. Their place is the bundle's `file`.
pub(super) async fn findings(
    bundle: &LoadedBundle,
    providers: &[Provider],
    file: &str,
    settings: &Settings,
) -> Result<Vec<Diagnostic>, Failure> {
    let look = || -> Vec<_> { bundle.agents().iter().map(Agent::catalog).collect() };
    let catalogs = with_all_tools(bundle, settings, look).await?;
    let mut findings = Vec::new();
    for provider in providers {
        for catalog in &catalogs {
            for finding in catalog.findings_for(provider_of(*provider)) {
                let finding = diagnostic(finding, file);
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        }
    }
    Ok(findings)
}

fn provider_of(provider: Provider) -> ModelProvider {
    match provider {
        Provider::Openai => ModelProvider::OpenAi,
        Provider::Anthropic => ModelProvider::Anthropic,
        Provider::Gemini => ModelProvider::Gemini,
    }
}

fn diagnostic(finding: ProviderFinding, file: &str) -> Diagnostic {
    let (code, place) = (ToolErrorCode::ConfigSchema, Place::file(file));
    let diagnostic = match finding.severity {
        Severity::Error => Diagnostic::error(code, place, finding.message),
        Severity::Warning => Diagnostic::warning(code, place, finding.message),
        Severity::Note => Diagnostic::note(code, place, finding.message),
    };
    diagnostic.with_help(finding.help)
}
