//! `toolhost auth`: grants OAuthApps access to accounts, and lists and removes grants.

mod login;

use std::path::Path;
use std::time::SystemTime;

use anyhow::anyhow;
use serde_json::{Value, json};
use toolhost::events::Timestamp;
use toolhost::manifest::{Bundle, Diagnostic};
use toolhost::oauth::{GrantInfo, OAuthApp, granted_app};
use toolhost::{Policy, ResourceName};
use toolhost_manifest::did_you_mean;

use crate::args::{AppArgs, AuthAction, AuthArgs, AuthRevokeArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};
use crate::{grants, host_context};

pub(crate) async fn auth(args: &AuthArgs, settings: &Settings) -> Result<Exit, Failure> {
    match &args.action {
        AuthAction::Login(args) => login::login(args, settings).await,
        AuthAction::Ls(args) => list(args.json, settings).await,
        AuthAction::Revoke(args) => revoke(args, settings).await,
    }
}

/// Finds an OAuthApp of a bundle that a policy grants. No component of the bundle is read.
async fn find(args: &AppArgs, policy: &Path) -> Result<(OAuthApp, Policy), Failure> {
    let file = PolicyFile::read(Some(policy)).await?;
    let path = args.bundle.clone();
    let open = tokio::task::spawn_blocking(move || Bundle::open(&path)).await;
    let open = open.map_err(Failure::of)?;
    let open = open.map_err(|error| Failure::of_bundle(error, file.source.as_ref()))?;
    let apps = open.bundle().oauth_apps();
    let mut known = apps.iter().map(|(app, _)| app.metadata.name.as_str());
    let found = apps
        .iter()
        .find(|(app, _)| app.metadata.name.as_str() == args.app);
    let (app, place) = found.ok_or_else(|| {
        let app = text::line(&args.app);
        let bundle = args.bundle.display();
        let error = anyhow!("the bundle {bundle} has no OAuthApp '{app}'");
        let known: Vec<&str> = known.by_ref().collect();
        let similar = did_you_mean(&args.app, &known);
        Failure::from(error).hint(similar.unwrap_or_else(|| match known.is_empty() {
            true => "Name the bundle with --bundle.".to_owned(),
            false => format!("It has {}.", known.join(", ")),
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

async fn list(json: bool, settings: &Settings) -> Result<Exit, Failure> {
    let sandbox = host_context::sandbox(settings)?;
    let oauth = grants::open(&sandbox, &Policy::default(), settings)?;
    let grants = oauth.grants().await.map_err(Failure::of)?;
    match json {
        true => stdout::json(&grants.iter().map(as_json).collect::<Value>())?,
        false => stdout::write(&table(&grants))?,
    }
    Ok(Exit::Done)
}

fn as_json(grant: &GrantInfo) -> Value {
    let time = |time: SystemTime| Timestamp(time).to_string();
    json!({
        "app": grant.app.as_str(),
        "subject": grant.subject,
        "scopes": grant.scopes,
        "grantedAt": time(grant.granted_at),
        "expiresAt": grant.expires_at.map(time),
        "canRefresh": grant.can_refresh,
    })
}

fn table(grants: &[GrantInfo]) -> String {
    if grants.is_empty() {
        return "there are no grants".to_owned();
    }
    let line = |grant: &GrantInfo| {
        let user = grant.subject.as_deref().unwrap_or("(all users)");
        let until = match (grant.can_refresh, grant.expires_at) {
            (true, _) => "renewed by itself".to_owned(),
            (false, Some(time)) => format!("until {}", Timestamp(time)),
            (false, None) => "without an end".to_owned(),
        };
        let scopes = grant.scopes.join(" ");
        format!(
            "{}  {}  {until}  {}",
            grant.app,
            text::line(user),
            text::line(&scopes)
        )
    };
    let lines: Vec<String> = grants.iter().map(line).collect();
    lines.join("\n")
}

async fn revoke(args: &AuthRevokeArgs, settings: &Settings) -> Result<Exit, Failure> {
    let subject = args.app.subject.as_deref();
    let sandbox = host_context::sandbox(settings)?;
    let was_there = match &args.policy {
        Some(policy) => {
            let (app, policy) = find(&args.app, policy).await?;
            let oauth = grants::open(&sandbox, &policy, settings)?;
            oauth.revoke(&app, subject).await.map_err(Failure::of)?
        }
        None => {
            let app = ResourceName::parse(&args.app.app);
            let app =
                app.map_err(|error| Failure::of(error).hint("Pass the name of an OAuthApp."))?;
            let oauth = grants::open(&sandbox, &Policy::default(), settings)?;
            let removed = oauth.forget(&app, subject).await.map_err(Failure::of)?;
            settings.note("the server was not asked to revoke the tokens: pass --policy for that");
            removed > 0
        }
    };
    let grant = display(&args.app.app, subject);
    stdout::write(&match was_there {
        true => format!("revoked the grant of {grant}"),
        false => format!("there is no grant of {grant}"),
    })?;
    Ok(if was_there { Exit::Done } else { Exit::Refused })
}

/// Returns an app and its user, for display.
fn display(app: &str, subject: Option<&str>) -> String {
    let app = text::line(app);
    match subject {
        Some(subject) => format!("OAuthApp/{app} for {}", text::line(subject)),
        None => format!("OAuthApp/{app}"),
    }
}
