//! An app that was checked, and the keys of its grants.

use sha2::{Digest as _, Sha256};
use toolhost_contract::{ResourceName, SubjectMode, text};

use crate::app::{Endpoints, OAuthApp};
use crate::egress::OAuthEgress;
use crate::error::OAuthError;
use crate::protocol::Protocol;
use crate::store::GrantKey;

/// Bytes of the digest of a client that are kept.
const CLIENT_BYTES: usize = 16;

/// An app whose definition is valid.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedApp {
    pub(crate) app: OAuthApp,
    pub(crate) endpoints: Endpoints,
    /// Digest of what a grant belongs to beside the app's name.
    pub(crate) client: String,
}

impl ResolvedApp {
    pub(crate) fn new(app: &OAuthApp) -> Result<Self, OAuthError> {
        let endpoints = app.endpoints().map_err(|reason| OAuthError::InvalidApp {
            app: app.name.clone(),
            reason,
        })?;
        let mut origins = app.origins.clone();
        origins.sort_unstable();
        let mut digest = Sha256::new();
        let parts = [endpoints.token.url.as_str(), app.client_id.as_str()];
        for part in parts.into_iter().chain(origins.iter().map(String::as_str)) {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        let digest = digest.finalize();
        Ok(Self {
            client: text::hex(digest.iter().take(CLIENT_BYTES)),
            app: app.clone(),
            endpoints,
        })
    }

    pub(crate) fn name(&self) -> ResourceName {
        self.app.name.clone()
    }

    /// Returns the key of a user's grant. Spec: requirements-v1 §12.6.1 (1) and (3).
    pub(crate) fn key(&self, subject: Option<&str>) -> Result<GrantKey, OAuthError> {
        let subject = match (self.app.subject_mode, subject) {
            (SubjectMode::Global, _) => "",
            (SubjectMode::User, Some(user)) if !user.is_empty() => user,
            (SubjectMode::User, _) => return Err(OAuthError::NoSubject { app: self.name() }),
        };
        Ok(GrantKey {
            app: self.app.name.to_string(),
            subject: subject.to_owned(),
            client: self.client.clone(),
        })
    }

    /// Returns the scopes to ask for: those that are requested, which must be scopes of the app, or all.
    /// Spec: requirements-v1 §12.6.1 (2).
    pub(crate) fn scopes(&self, requested: Option<&[String]>) -> Result<Vec<String>, OAuthError> {
        let scopes = &self.app.scopes;
        let Some(requested) = requested else {
            return Ok(scopes.clone());
        };
        match requested.iter().find(|scope| !scopes.contains(scope)) {
            Some(scope) => Err(OAuthError::Scope {
                app: self.name(),
                scope: scope.clone(),
            }),
            // In the order of the app, so that equal sets have equal sessions.
            None => Ok(scopes
                .iter()
                .filter(|scope| requested.contains(scope))
                .cloned()
                .collect()),
        }
    }

    pub(crate) fn protocol<'a>(&'a self, egress: &'a OAuthEgress) -> Protocol<'a> {
        Protocol {
            app: &self.app,
            endpoints: &self.endpoints,
            egress,
        }
    }
}

/// Returns the subject of a key: none, if the grant is shared by all users.
pub(crate) fn subject_of(key: &GrantKey) -> Option<String> {
    Some(key.subject.clone()).filter(|subject| !subject.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::app;

    fn resolved(change: impl FnOnce(&mut OAuthApp)) -> ResolvedApp {
        let mut app = app("https://auth.example");
        change(&mut app);
        ResolvedApp::new(&app).unwrap()
    }

    // requirements-v1 §12.6.1 (1)
    #[test]
    fn the_subject_is_the_user_or_shared_by_all_as_the_app_has_it() {
        let global = resolved(|_| ());
        let of = |app: &ResolvedApp, user| app.key(user).map(|key| key.subject).ok();
        assert_eq!(of(&global, Some("ada")).unwrap(), "");
        assert_eq!(of(&global, None).unwrap(), "");
        let user = resolved(|app| app.subject_mode = SubjectMode::User);
        assert_eq!(of(&user, Some("ada")).unwrap(), "ada");
        for none in [None, Some("")] {
            assert!(matches!(user.key(none), Err(OAuthError::NoSubject { .. })));
        }
    }

    // requirements-v1 §12.6.1 (2)
    #[test]
    fn only_scopes_of_the_app_are_requested() {
        let app = resolved(|_| ());
        let scopes = |requested: &[&str]| {
            let requested: Vec<String> = requested.iter().map(|it| (*it).to_owned()).collect();
            app.scopes(Some(&requested))
        };
        assert_eq!(app.scopes(None).unwrap(), ["read", "write"]);
        assert_eq!(scopes(&["write", "read"]).unwrap(), ["read", "write"]);
        assert_eq!(scopes(&["read"]).unwrap(), ["read"]);
        let error = scopes(&["read", "admin"]).unwrap_err();
        assert!(matches!(error, OAuthError::Scope { scope, .. } if scope == "admin"));
    }

    // requirements-v1 §12.6.1 (3)
    #[test]
    fn a_grant_belongs_to_app_subject_and_client() {
        let one = resolved(|_| ());
        let same = resolved(|app| {
            app.scopes.clear();
            app.client_secret = Some(crate::secret::Secret::new("rotated"));
            app.redirect = Some("http://127.0.0.1:1/".to_owned());
        });
        assert_eq!(one.key(None).unwrap(), same.key(None).unwrap());
        let changes: [fn(&mut OAuthApp); 4] = [
            |app| app.name = ResourceName::parse("other").unwrap(),
            |app| app.client_id = "other".to_owned(),
            |app| app.token_url = "https://evil.example/token".to_owned(),
            |app| app.origins = vec!["https://evil.example".to_owned()],
        ];
        for change in changes {
            assert_ne!(one.key(None).unwrap(), resolved(change).key(None).unwrap());
        }
    }
}
