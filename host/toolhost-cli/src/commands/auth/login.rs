//! `toolhost auth login`: waits until a user has granted an OAuthApp access to an account.

use std::time::Duration;

use anyhow::anyhow;
use tokio::time::{sleep, timeout};
use toolhost::oauth::{
    AuthorizationRequired, DevicePoll, Granted, OAuth, OAuthApp, OAuthFlow, SubjectMode,
};

use super::super::callback::Callback;
use super::app::{display, find};
use crate::args::AuthLoginArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{stdout, text};
use crate::{grants, host_context};

/// The beginning of a redirect URL that this command can serve.
const LOOPBACK: &str = "http://127.0.0.1:";

pub(super) async fn login(args: &AuthLoginArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (app, policy) = find(&args.app, &args.policy, settings).await?;
    if app.subject_mode == SubjectMode::User && args.app.subject.is_none() {
        let error = anyhow!("OAuthApp/{} has a grant for each user", app.name);
        return Err(Failure::from(error).hint("Pass --subject USER."));
    }
    let sandbox = host_context::sandbox(settings)?;
    let oauth = grants::open(&sandbox, &policy, &policy, settings)?;
    let login = Login {
        args,
        settings,
        oauth,
    };
    let within = Duration::from_secs(args.timeout.into());
    let granted = timeout(within, login.wait(app)).await;
    let granted = granted.map_err(|_| {
        let error = anyhow!("nobody answered within {} s", args.timeout);
        refusal(error).hint("Begin again; --timeout SECONDS gives more time.")
    })??;
    let grant = display(granted.app.as_str(), granted.subject.as_deref());
    let scopes = if granted.scopes.is_empty() {
        String::new()
    } else {
        format!(": {}", text::line(&granted.scopes.join(" ")))
    };
    stdout::write(&format!("granted access to {grant}{scopes}"))?;
    Ok(Exit::Done)
}

/// Returns the failure of a login that was not granted.
fn refusal(error: impl Into<anyhow::Error>) -> Failure {
    Failure::from(error).refused()
}

struct Login<'a> {
    args: &'a AuthLoginArgs,
    settings: &'a Settings,
    oauth: OAuth,
}

impl Login<'_> {
    async fn wait(&self, app: OAuthApp) -> Result<Granted, Failure> {
        match app.flow {
            OAuthFlow::AuthorizationCode => self.in_browser(app).await,
            OAuthFlow::DeviceCode => self.on_device(&app).await,
        }
    }

    async fn begin(&self, app: &OAuthApp) -> Result<AuthorizationRequired, Failure> {
        let subject = self.args.app.subject.as_deref();
        let scopes = Some(self.args.scope.as_slice()).filter(|scopes| !scopes.is_empty());
        let authorization = self.oauth.authorize(app, subject, scopes).await;
        authorization.map_err(refusal)
    }

    async fn in_browser(&self, mut app: OAuthApp) -> Result<Granted, Failure> {
        let redirect = app.redirect.clone().unwrap_or_default();
        let rest = redirect.strip_prefix(LOOPBACK);
        let parts = rest.map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len())));
        let Some((port, path)) = parts else {
            let error = anyhow!("the redirect of OAuthApp/{} is {redirect}", app.name);
            return Err(Failure::from(error)
                .hint("The runtime that serves this URL completes authorizations."));
        };
        let port = self
            .args
            .port
            .or_else(|| port.parse().ok())
            .unwrap_or_default();
        let callback = Callback::listen(port, path).await.map_err(|failure| {
            failure.hint(
                "A `toolhost serve` that listens there completes authorizations too; or pass --port NUMBER, if the client may be sent to another port.",
            )
        })?;
        app.redirect = Some(callback.url());
        let authorization = self.begin(&app).await?;
        self.settings.note(&format!(
            "OAuthApp/{} asks for access. Open this URL in a browser of this machine:",
            app.name
        ));
        stdout::write(&text::line(&authorization.authorization_url))?;
        let answer = callback.receive(&authorization.authorization_url).await;
        let answer = answer.map_err(|error| refusal(anyhow!(error)))?;
        let query = answer.split_once('?').map_or("", |(_, query)| query);
        self.oauth.callback(query, &[app]).await.map_err(refusal)
    }

    async fn on_device(&self, app: &OAuthApp) -> Result<Granted, Failure> {
        let authorization = self.begin(app).await?;
        self.settings.note(&format!(
            "OAuthApp/{} asks for access. Open this URL on any device, and enter the code:",
            app.name
        ));
        let code = authorization.user_code.unwrap_or_default();
        let (url, code) = (
            text::line(&authorization.authorization_url),
            text::line(&code),
        );
        stdout::write(&format!("{url}\n{code}"))?;
        loop {
            let polled = self
                .oauth
                .poll_device(app, &authorization.auth_session_id)
                .await;
            match polled.map_err(refusal)? {
                DevicePoll::Pending { after } => sleep(after).await,
                DevicePoll::Granted(granted) => return Ok(granted),
                DevicePoll::Denied => return Err(refusal(anyhow!("the user refused access"))),
                DevicePoll::Expired => {
                    let error = anyhow!("the code expired before it was entered");
                    return Err(refusal(error).hint("Begin again."));
                }
            }
        }
    }
}
