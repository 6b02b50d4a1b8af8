//! `toolhost auth`: grants OAuthApps access to accounts, and lists and removes grants.

mod app;
mod login;

use std::path::Path;

use serde_json::json;
use toolhost::oauth::{GrantInfo, Revoked};
use toolhost::{Policy, ResourceName};

use crate::args::{AuthAction, AuthArgs, AuthRevokeArgs};
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};
use crate::{grants, host_context};
use app::{display, find};

pub(crate) async fn auth(args: &AuthArgs, settings: &Settings) -> Result<Exit, Failure> {
    match &args.action {
        AuthAction::Login(args) => login::login(args, settings).await,
        AuthAction::Ls(args) => list(args.json, args.policy.as_deref(), settings).await,
        AuthAction::Revoke(args) => revoke(args, settings).await,
    }
}

async fn list(json: bool, policy: Option<&Path>, settings: &Settings) -> Result<Exit, Failure> {
    let sandbox = host_context::sandbox(settings)?;
    let state = PolicyFile::read(policy).await?.policy;
    let oauth = grants::open(&sandbox, &Policy::default(), &state, settings)?;
    let grants = oauth.grants().await?;
    if json {
        stdout::json(&json!(grants))?
    } else {
        stdout::write(&table(&grants))?
    }
    Ok(Exit::Done)
}

fn table(grants: &[GrantInfo]) -> String {
    if grants.is_empty() {
        return "there are no grants".to_owned();
    }
    let line = |grant: &GrantInfo| {
        let user = grant.subject.as_deref().unwrap_or("(all users)");
        let until = match (grant.can_refresh, grant.expires_at) {
            (true, _) => "renewed by itself".to_owned(),
            (false, Some(time)) => format!("until {time}"),
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
            let (app, policy) = find(&args.app, policy, settings).await?;
            let oauth = grants::open(&sandbox, &policy, &policy, settings)?;
            let revoked = oauth.revoke(&app, subject).await;
            match revoked? {
                Revoked::NoGrant => false,
                Revoked::AtServer => true,
                Revoked::OnlyHere { reason } => {
                    settings.note(&format!(
                        "the tokens may still be valid: {}",
                        text::line(&reason)
                    ));
                    true
                }
            }
        }
        None => {
            let app = ResourceName::parse(&args.app.app);
            let app = app.hint("Pass the name of an OAuthApp.")?;
            let none = Policy::default();
            let oauth = grants::open(&sandbox, &none, &none, settings)?;
            let removed = oauth.forget(&app, subject).await?;
            settings.note("the server was not asked to revoke the tokens: pass --policy for that");
            removed > 0
        }
    };
    let grant = display(&args.app.app, subject);
    stdout::write(&if was_there {
        format!("revoked the grant of {grant}")
    } else {
        format!("no grant of {grant} is stored")
    })?;
    Ok(Exit::done_if(was_there))
}
