//! What is kept for one MCP server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolhost_contract::ResourceName;

use crate::error::OAuthError;
use crate::secret::Secret;
use crate::shared::OAuthContext;
use crate::store::servers::ServerKey;

/// How long a process may renew the tokens of a server.
const LEASE_TIME: Duration = Duration::from_secs(90);

/// Between two attempts to get the lease.
const INTERVAL: Duration = Duration::from_millis(50);

/// The credentials for one MCP server at one URL, encrypted in the database of a state root: one record,
/// which its user reads and writes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ServerCredentials {
    shared: Arc<OAuthContext>,
    server: ResourceName,
    key: ServerKey,
}

/// The right to renew the tokens of a server, which no other process has meanwhile. Dropping it lets others
/// continue.
#[must_use]
pub struct ServerLease {
    shared: Arc<OAuthContext>,
    key: ServerKey,
    lease: String,
}

impl fmt::Debug for ServerLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLease").finish_non_exhaustive()
    }
}

impl Drop for ServerLease {
    fn drop(&mut self) {
        let (tables, key) = (self.shared.tables.clone(), self.key.clone());
        let lease = std::mem::take(&mut self.lease);
        self.shared.egress.network.threads().spawn_own(async move {
            // A lease that is not released ends by itself.
            let _released = tables.release_server(key, lease).await;
        });
    }
}

impl ServerCredentials {
    pub(crate) fn new(shared: Arc<OAuthContext>, server: ResourceName, url: &str) -> Self {
        let key = ServerKey {
            server: server.to_string(),
            url: url.to_owned(),
        };
        Self {
            shared,
            server,
            key,
        }
    }

    /// Returns the record. `None` also if it does not open with the key of the state root. What version 0.1
    /// kept in a file is taken over once; then the file is removed.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    pub async fn load(&self) -> Result<Option<Secret>, OAuthError> {
        let tables = &self.shared.tables;
        if let Some(record) = tables.server(&self.key).await? {
            return Ok(Some(record));
        }
        let Some(file) = tables.earlier_file(&self.key) else {
            return Ok(None);
        };
        let record = tables.take_over(&self.key, file.clone()).await?;
        if record.is_some() {
            tables.remove_earlier(file).await?;
        }
        Ok(record)
    }

    /// Replaces the record.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    pub async fn save(&self, record: Secret) -> Result<(), OAuthError> {
        self.shared.tables.put_server(&self.key, record).await
    }

    /// Removes the record. Returns whether there was one.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    pub async fn remove(&self) -> Result<bool, OAuthError> {
        let tables = &self.shared.tables;
        let had_file = match tables.earlier_file(&self.key) {
            Some(file) => tables.remove_earlier(file).await?,
            None => false,
        };
        Ok(tables.remove_server(&self.key).await? || had_file)
    }

    /// Waits until no other process renews the tokens: a refresh token may be valid once.
    ///
    /// # Errors
    /// [`OAuthError::ServerBusy`] if that takes longer than a renewal may, or [`OAuthError::Store`].
    pub async fn lease(&self) -> Result<ServerLease, OAuthError> {
        let mut waited = Duration::ZERO;
        loop {
            let (tables, now_ms) = (&self.shared.tables, self.shared.now_ms());
            if let Some(lease) = tables.lease_server(&self.key, now_ms, LEASE_TIME).await? {
                let (shared, key) = (Arc::clone(&self.shared), self.key.clone());
                return Ok(ServerLease { shared, key, lease });
            }
            if waited > LEASE_TIME {
                let server = self.server.clone();
                return Err(OAuthError::ServerBusy { server });
            }
            self.shared.sleep(INTERVAL).await;
            waited += INTERVAL;
        }
    }
}
