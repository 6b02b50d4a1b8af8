//! What the APIs of model providers refuse of a bundle's tools.

use toolhost::manifest::{Diagnostic, Place, Severity};
use toolhost::tool::{ModelProvider, ProviderFinding};
use toolhost::{LiveBundle, LoadedBundle, ToolErrorCode};

use crate::args::Provider;
use crate::commands::{changesets, mcp_servers};
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
    let servers = mcp_servers::start(bundle, settings).await?;
    let live = LiveBundle::new(bundle.clone());
    let _changesets = changesets::start(&live, settings)?;
    let catalogs = bundle.agents().iter().map(|agent| agent.catalog());
    let catalogs: Vec<_> = catalogs.collect();
    servers.close().await;
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
