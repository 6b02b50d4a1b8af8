//! Sessions and grants in the database of a state root.

pub(crate) mod grants;
pub(crate) mod servers;
pub(crate) mod sessions;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolhost_store::sql::{self, Transaction};
use toolhost_store::{Database, Schema, Store};

use crate::cipher::Cipher;
use crate::error::OAuthError;

/// The tables of sessions and grants, in the database of a state root.
#[derive(Debug, Clone)]
pub struct OAuthStore {
    store: Store,
    /// None in memory.
    state_root: Option<PathBuf>,
}

/// The tables, as migration steps.
const SCHEMA: Schema = Schema {
    owner: "oauth",
    steps: &[
        include_str!("store/tables.sql"),
        include_str!("store/servers.sql"),
    ],
    postgres: &[include_str!("store/tables.postgres.sql")],
    legacy_versions: &[],
};

/// Whose grant it is. Spec: requirements-v1 §12.6.1 (3).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct GrantKey {
    pub(crate) app: String,
    /// Empty: shared by all users.
    pub(crate) subject: String,
    /// Digest of the app's client.
    pub(crate) client: String,
}

/// A value that does not open with the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

impl OAuthStore {
    /// Opens the tables in the database of a state root. Several processes may share it. Blocks, for some
    /// seconds at most if another process locks the database.
    ///
    /// # Errors
    /// [`OAuthError::Store`] as [`Store::open`].
    pub fn open(state_root: &Path) -> Result<Self, OAuthError> {
        Self::open_on(state_root.into(), Some(state_root.to_owned()))
    }

    /// Opens the tables in a database. `state_root` has what an earlier release kept in files, and notes where its database
    /// is.
    ///
    /// # Errors
    /// [`OAuthError::Store`] as [`Store::open`] and [`Database::mark`].
    pub fn open_on(database: Database, state_root: Option<PathBuf>) -> Result<Self, OAuthError> {
        if let Some(state_root) = &state_root {
            database.mark(state_root)?;
        }
        Ok(Self {
            store: Store::open(database, &SCHEMA)?,
            state_root,
        })
    }

    /// Makes tables that live as long as this value.
    ///
    /// # Errors
    /// [`OAuthError::Store`] as [`Store::in_memory`].
    pub fn in_memory() -> Result<Self, OAuthError> {
        Ok(Self {
            store: Store::in_memory(&SCHEMA)?,
            state_root: None,
        })
    }
}

/// The tables with the key to them.
#[derive(Clone)]
pub(crate) struct Tables {
    store: Store,
    state_root: Option<PathBuf>,
    cipher: Arc<Cipher>,
}

impl Tables {
    pub(crate) fn new(store: OAuthStore, cipher: Cipher) -> Self {
        Self {
            store: store.store,
            state_root: store.state_root,
            cipher: Arc::new(cipher),
        }
    }

    /// Runs a transaction. `work` gets these tables too, for their key.
    async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>, &Self) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, OAuthError> {
        let tables = self.clone();
        let done = self.store.write(move |db| work(db, &tables)).await;
        Ok(done?)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>, &Self) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, OAuthError> {
        let tables = self.clone();
        let done = self.store.read(move |db| work(db, &tables)).await;
        Ok(done?)
    }
}

fn join(scopes: &[String]) -> String {
    scopes.join(" ")
}

fn split(scopes: &str) -> Vec<String> {
    scopes.split_whitespace().map(str::to_owned).collect()
}
