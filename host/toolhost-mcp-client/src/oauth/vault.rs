//! The stored credentials of one server.

use std::sync::Arc;

use toolhost::oauth::{OAuthError, ServerCredentials, ServerLease};

use super::record::TokenRecord;
use super::settings::OAuthSettings;
use crate::unauthorized::{NextMove, Unauthorized};

/// Reads and writes the credentials of one server; without a store it has none.
pub(super) struct Vault {
    store: Option<ServerCredentials>,
    url: Arc<str>,
    /// What the policy has: credentials of another client or issuer are not used.
    issuer: Option<String>,
    client_id: Option<String>,
}

impl Vault {
    pub(super) fn new(settings: &OAuthSettings) -> Self {
        let grants = settings.access.grants.as_ref();
        Self {
            store: grants.map(|grants| grants.server(&settings.server, &settings.url)),
            url: Arc::clone(&settings.url),
            issuer: settings.config.issuer.clone(),
            client_id: settings.config.client_id.clone(),
        }
    }

    /// Returns the credentials, if they are for this server and of the policy's client.
    pub(super) async fn load(&self) -> Result<Option<TokenRecord>, Unauthorized> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let json = store.load().await.map_err(unusable)?;
        let record = json.and_then(|json| TokenRecord::parse(&json, &self.url));
        Ok(record.filter(|record| {
            let has_issuer = |issuer: &String| {
                let record_issuer = record.issuer.as_deref().unwrap_or_default();
                record_issuer.trim_end_matches('/') == issuer.trim_end_matches('/')
            };
            self.issuer.as_ref().is_none_or(has_issuer)
                && self
                    .client_id
                    .as_ref()
                    .is_none_or(|id| *id == record.client_id)
        }))
    }

    pub(super) async fn save(&self, record: &TokenRecord) -> Result<(), Unauthorized> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        store.save(record.to_secret()).await.map_err(unusable)
    }

    /// Keeps other processes from renewing the token.
    pub(super) async fn lock(&self) -> Result<Option<ServerLease>, Unauthorized> {
        match &self.store {
            Some(store) => store.lease().await.map(Some).map_err(unusable),
            None => Ok(None),
        }
    }
}

fn unusable(error: OAuthError) -> Unauthorized {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
    let cause = cause.unwrap_or_default();
    let reason = format!("its credentials could not be read or written: {error}{cause}");
    Unauthorized::new(NextMove::Wait, reason)
}
