//! Finds the OAuthApp that a command names.

use std::path::Path;

use anyhow::anyhow;
use toolhost::Policy;
use toolhost::manifest::Diagnostic;
use toolhost::oauth::{OAuthApp, granted_app};
use toolhost_contract::suggest::did_you_mean;

use crate::args::AppArgs;
use crate::failure::Failure;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::text;

/// Finds an OAuthApp of a bundle that a policy grants. No component of the bundle is read.
pub(super) async fn find(
    args: &AppArgs,
    policy: &Path,
    settings: &Settings,
) -> Result<(OAuthApp, Policy), Failure> {
    let file = PolicyFile::read(Some(policy)).await?;
    let path = settings.bundle(&args.bundle)?.to_owned();
    let base = settings.base.clone();
    let open = tokio::task::spawn_blocking(move || base.open(&path)).await?;
    let open = open.map_err(|error| Failure::of_bundle(error, file.source.as_ref()))?;
    let apps = open.bundle().oauth_apps();
    let mut names = apps.iter().map(|(app, _)| app.metadata.name.as_str());
    let entry = apps
        .iter()
        .find(|(app, _)| app.metadata.name.as_str() == args.app);
    let (app, place) = entry.ok_or_else(|| {
        let app = text::line(&args.app);
        let bundle = args.bundle.display();
        let error = anyhow!("the bundle {bundle} has no OAuthApp '{app}'");
        let names: Vec<&str> = names.by_ref().collect();
        let similar = did_you_mean(&args.app, &names);
        Failure::from(error).hint(similar.unwrap_or_else(|| {
            if names.is_empty() {
                "Name the bundle with --bundle.".to_owned()
            } else {
                format!("It has {}.", names.join(", "))
            }
        }))
    })?;
    let granted = granted_app(&file.policy, app, place);
    let app = granted.map_err(|finding| not_granted(&finding, policy))?;
    Ok((app, file.policy))
}

fn not_granted(finding: &Diagnostic, policy: &Path) -> Failure {
    let error = anyhow!("{} ({})", finding.message, policy.display());
    Failure::from(error).hint(finding.help.clone())
}

/// Returns an app and its user, for display.
pub(super) fn display(app: &str, subject: Option<&str>) -> String {
    let app = text::line(app);
    match subject {
        Some(subject) => format!("OAuthApp/{app} for {}", text::line(subject)),
        None => format!("OAuthApp/{app}"),
    }
}
