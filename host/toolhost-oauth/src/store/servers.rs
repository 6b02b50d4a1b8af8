//! The table of what is kept for MCP servers: the client at an authorization server, and its tokens.

use std::time::Duration;

use toolhost_store::random_text;
use toolhost_store::sql::{self, Transaction, params};

use super::Tables;
use crate::cipher::ValuePlace;
use crate::clock::millis_of;
use crate::earlier_file::EarlierFile;
use crate::error::OAuthError;
use crate::secret::Secret;

/// Letters that tell one lease of a run from another.
const LEASE_LETTERS: usize = 16;

/// Whose record it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ServerKey {
    pub(crate) server: String,
    pub(crate) url: String,
}

impl Tables {
    /// Returns the record of a server. `None` also if it does not open with the key.
    pub(crate) async fn server(&self, key: &ServerKey) -> Result<Option<Secret>, OAuthError> {
        let key = key.clone();
        self.read(move |db, tables| tables.find_server(db, &key))
            .await
    }

    pub(crate) async fn put_server(
        &self,
        key: &ServerKey,
        record: Secret,
    ) -> Result<(), OAuthError> {
        let key = key.clone();
        self.write(move |db, tables| {
            db.execute(
                "INSERT INTO oauth_servers (server, url, record) VALUES (?1, ?2, ?3)
                 ON CONFLICT (server, url) DO UPDATE SET record = excluded.record",
                params![key.server, key.url, tables.sealed_server(&key, &record)?],
            )
            .map(drop)
        })
        .await
    }

    /// Stores what the file of an earlier release holds, unless there is a record. Returns the record that is
    /// there then.
    pub(crate) async fn take_over(
        &self,
        key: &ServerKey,
        file: EarlierFile,
    ) -> Result<Option<Secret>, OAuthError> {
        let key = key.clone();
        self.write(move |db, tables| {
            let record = match file.read() {
                Ok(Some(record)) => record,
                Ok(None) => return tables.find_server(db, &key),
                Err(error) => {
                    tracing::warn!(%error, "the file with the tokens of an MCP server is not used");
                    return Ok(None);
                }
            };
            db.execute(
                "INSERT INTO oauth_servers (server, url, record) VALUES (?1, ?2, ?3)
                 ON CONFLICT (server, url) DO UPDATE SET record = coalesce(oauth_servers.record, excluded.record)",
                params![key.server, key.url, tables.sealed_server(&key, &record)?],
            )?;
            tables.find_server(db, &key)
        })
        .await
    }

    /// Removes the file of an earlier release. Returns whether there was one.
    pub(crate) async fn remove_earlier(&self, file: EarlierFile) -> Result<bool, OAuthError> {
        self.read(move |_, _| Ok(file.remove())).await
    }

    /// Returns the file in which an earlier release kept the record. `None` if there is none.
    pub(crate) fn earlier_file(&self, key: &ServerKey) -> Option<EarlierFile> {
        EarlierFile::find(self.state_root.as_deref()?, &key.server, &key.url)
    }

    /// Removes the record of a server. Returns whether there was one.
    pub(crate) async fn remove_server(&self, key: &ServerKey) -> Result<bool, OAuthError> {
        let key = key.clone();
        self.write(move |db, _| {
            let delete = "DELETE FROM oauth_servers WHERE server = ?1 AND url = ?2
                 RETURNING record IS NOT NULL";
            let had_record =
                db.query_optional(delete, params![key.server, key.url], |row| row.get(0));
            Ok(had_record?.unwrap_or(false))
        })
        .await
    }

    /// Takes the right to renew the tokens of a server for some time. `None`: a process that runs has it.
    pub(crate) async fn lease_server(
        &self,
        key: &ServerKey,
        now_ms: i64,
        time: Duration,
    ) -> Result<Option<String>, OAuthError> {
        let key = key.clone();
        let random = random_text::<LEASE_LETTERS>().map_err(|_| OAuthError::Random)?;
        self.write(move |db, _| {
            let select = "SELECT lease FROM oauth_servers
                 WHERE server = ?1 AND url = ?2 AND lease IS NOT NULL AND lease_until_ms > ?3";
            let lease = db.query_optional(select, params![key.server, key.url, now_ms], |row| {
                row.get::<String>(0)
            });
            let lease = lease?;
            let run_id = lease.as_deref().and_then(|lease| lease.split('/').next());
            if run_id.map_or(Ok(false), |run_id| db.is_alive(run_id))? {
                return Ok(None);
            }
            let holder = format!("{}/{random}", db.run_id());
            db.execute(
                "INSERT INTO oauth_servers (server, url, lease, lease_until_ms) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (server, url) DO UPDATE SET lease = excluded.lease,
                     lease_until_ms = excluded.lease_until_ms",
                params![key.server, key.url, holder, now_ms.saturating_add(millis_of(time))],
            )?;
            Ok(Some(holder))
        })
        .await
    }

    pub(crate) async fn release_server(
        &self,
        key: ServerKey,
        lease: String,
    ) -> Result<(), OAuthError> {
        self.write(move |db, _| {
            let update = "UPDATE oauth_servers SET lease = NULL
                 WHERE server = ?1 AND url = ?2 AND lease = ?3";
            db.execute(update, params![key.server, key.url, lease])
                .map(drop)
        })
        .await
    }

    fn find_server(&self, db: &Transaction<'_>, key: &ServerKey) -> sql::Result<Option<Secret>> {
        let select = "SELECT record FROM oauth_servers WHERE server = ?1 AND url = ?2";
        let sealed = db.query_optional(select, params![key.server, key.url], |row| {
            row.get::<Option<Vec<u8>>>(0)
        });
        let Some(sealed) = sealed?.flatten() else {
            return Ok(None);
        };
        let record = self.cipher.open(place(&[&key.server, &key.url]), &sealed);
        if record.is_none() {
            let server = &key.server;
            tracing::warn!(%server, "the tokens of an MCP server do not open with this key");
        }
        Ok(record)
    }

    fn sealed_server(&self, key: &ServerKey, record: &Secret) -> sql::Result<Vec<u8>> {
        let sealed = self.cipher.seal(place(&[&key.server, &key.url]), record);
        sealed.map_err(|error| sql::Error::Unstorable(error.into()))
    }
}

fn place<'a>(row: &'a [&'a str]) -> ValuePlace<'a> {
    ValuePlace {
        table: "oauth_servers",
        row,
        column: "record",
    }
}
