//! The stored credentials of one server.

use std::io;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

use super::record::Record;
use super::settings::OAuthSettings;
use super::store::{McpCredentialKey, McpCredentialStore};
use crate::unauthorized::{Next, Unauthorized};

/// Reads and writes the credentials of one server; without a store it has none.
pub(super) struct Vault {
    store: Option<Arc<dyn McpCredentialStore>>,
    key: McpCredentialKey,
    /// What the policy has: credentials of another client or issuer are not used.
    issuer: Option<String>,
    client_id: Option<String>,
}

impl Vault {
    pub(super) fn new(settings: &OAuthSettings) -> Self {
        Self {
            store: settings.access.store.clone(),
            key: McpCredentialKey::new(settings.server.clone(), &*settings.url),
            issuer: settings.config.issuer.clone(),
            client_id: settings.config.client_id.clone(),
        }
    }

    /// Returns the credentials, if they are for this server and of the policy's client.
    pub(super) async fn load(&self) -> Result<Option<Record>, Unauthorized> {
        let loaded = self.with(|store, key| store.load(key)).await?.flatten();
        let record = loaded.and_then(|bytes| Record::parse(&bytes, &self.key.url));
        Ok(record.filter(|record| {
            let has_issuer = |issuer: &String| {
                let found = record.issuer.as_deref().unwrap_or_default();
                found.trim_end_matches('/') == issuer.trim_end_matches('/')
            };
            self.issuer.as_ref().is_none_or(has_issuer)
                && self
                    .client_id
                    .as_ref()
                    .is_none_or(|id| *id == record.client_id)
        }))
    }

    pub(super) async fn save(&self, record: &Record) -> Result<(), Unauthorized> {
        let bytes = Zeroizing::new(serde_json::to_vec(record).unwrap_or_default());
        self.with(move |store, key| store.save(key, &bytes)).await?;
        Ok(())
    }

    /// Keeps other processes from renewing the token.
    pub(super) async fn lock(&self) -> Result<Option<Box<dyn Send>>, Unauthorized> {
        self.with(|store, key| store.lock(key)).await
    }

    async fn with<T: Send + 'static>(
        &self,
        run: impl FnOnce(&dyn McpCredentialStore, &McpCredentialKey) -> io::Result<T> + Send + 'static,
    ) -> Result<Option<T>, Unauthorized> {
        let Some(store) = self.store.clone() else {
            return Ok(None);
        };
        let key = self.key.clone();
        let done = spawn_blocking(move || run(&*store, &key)).await;
        let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
        done.map(Some).map_err(|error| {
            let reason = format!("its credentials could not be read or written: {error}");
            Unauthorized::new(Next::Wait, reason)
        })
    }
}
