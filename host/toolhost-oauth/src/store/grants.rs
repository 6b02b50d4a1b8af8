//! The table of grants.

use std::time::Duration;

use toolhost_store::random_text;
use toolhost_store::sql::{self, Row, Transaction, named_params, params};

use super::{GrantKey, Tables, Unreadable, join, split};
use crate::answer::Tokens;
use crate::cipher::ValuePlace;
use crate::clock::millis_of;
use crate::error::OAuthError;
use crate::secret::Secret;

/// Letters that tell one lease of a run from another.
const LEASE_LETTERS: usize = 16;

/// Longest pause after failures.
const PAUSE_MAX_MS: i64 = 300_000;

/// Longest pause that a server can ask for.
const RETRY_AFTER_MAX_MS: i64 = 3_600_000;

/// A grant.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    /// The scopes that were requested.
    pub(crate) asked: Vec<String>,
    /// The scopes that the server granted.
    pub(crate) scopes: Vec<String>,
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    pub(crate) issued_ms: i64,
    /// None: unknown.
    pub(crate) expires_ms: Option<i64>,
    /// Counts the changes of the tokens.
    pub(crate) revision: i64,
    /// No refresh is sent before.
    pub(crate) retry_ms: i64,
}

/// A grant without its tokens.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) key: GrantKey,
    pub(crate) scopes: Vec<String>,
    pub(crate) granted_ms: i64,
    pub(crate) expires_ms: Option<i64>,
    pub(crate) can_refresh: bool,
}

/// The right to refresh a grant, which no other process has meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct GrantLease(String);

/// What a process found that wants to refresh.
#[derive(Debug)]
pub(crate) enum Claim {
    /// There is no grant any more.
    Gone,
    /// The grant as it is, which need not or cannot be refreshed now.
    Kept(Grant),
    /// Another process refreshes it.
    Taken(Grant),
    /// It may be refreshed.
    Leased(Grant, GrantLease),
}

impl Grant {
    /// Whether the access token can be sent.
    pub(crate) fn is_alive(&self, now_ms: i64) -> bool {
        self.expires_ms.is_none_or(|expires| expires > now_ms)
    }

    /// Whether a new access token is wanted: it is valid for less than this, or than half of its lifetime if
    /// that is shorter, as otherwise a token with a short life would be refreshed with each call.
    pub(crate) fn expires_within(&self, now_ms: i64, time: Duration) -> bool {
        self.expires_ms.is_some_and(|expires| {
            let half = expires.saturating_sub(self.issued_ms).max(0) / 2;
            expires.saturating_sub(now_ms) <= millis_of(time).min(half)
        })
    }

    fn may_refresh(&self, now_ms: i64) -> bool {
        self.refresh.is_some() && self.retry_ms <= now_ms
    }
}

impl Tables {
    pub(crate) async fn grant(
        &self,
        key: &GrantKey,
    ) -> Result<Result<Option<Grant>, Unreadable>, OAuthError> {
        let key = key.clone();
        self.read(move |db, tables| tables.find(db, &key)).await
    }

    /// Stores the tokens of a new authorization, in place of those before.
    pub(crate) fn put_grant(
        &self,
        db: &Transaction<'_>,
        key: &GrantKey,
        asked: &[String],
        tokens: &Tokens,
        now_ms: i64,
    ) -> sql::Result<()> {
        let (access, refresh) = self.seal(key, tokens)?;
        let scopes = tokens.scopes.as_deref().unwrap_or(asked);
        db.execute(
            "INSERT INTO oauth_grants VALUES (:app, :subject, :client, :asked, :scopes, :access, :refresh,
                 :now, :now, :expires, 1, NULL, 0, 0, 0)
             ON CONFLICT (app, subject, client) DO UPDATE SET asked = :asked, scopes = :scopes, access = :access,
                 refresh = :refresh, granted_ms = :now, issued_ms = :now, expires_ms = :expires,
                 revision = oauth_grants.revision + 1, lease = NULL, failures = 0, retry_ms = 0",
            named_params! {
                ":app": key.app, ":subject": key.subject, ":client": key.client,
                ":asked": join(asked), ":scopes": join(scopes), ":access": access, ":refresh": refresh,
                ":now": now_ms, ":expires": expires_ms(tokens, now_ms),
            },
        )
        .map(drop)
    }

    /// Takes the right to refresh a grant for some time, if the grant as it is now needs a refresh. A lease
    /// of a process that ended, or whose time is over, is taken over.
    pub(crate) async fn claim(
        &self,
        key: &GrantKey,
        is_due: impl Fn(&Grant) -> bool + Send + 'static,
        now_ms: i64,
        time: Duration,
    ) -> Result<Result<Claim, Unreadable>, OAuthError> {
        let key = key.clone();
        let random = random_text::<LEASE_LETTERS>().map_err(|_| OAuthError::Random)?;
        let work = move |db: &Transaction<'_>, tables: &Self| {
            let grant = match tables.find(db, &key)? {
                Err(unreadable) => return Ok(Err(unreadable)),
                Ok(None) => return Ok(Ok(Claim::Gone)),
                Ok(Some(grant)) => grant,
            };
            if !is_due(&grant) || !grant.may_refresh(now_ms) {
                return Ok(Ok(Claim::Kept(grant)));
            }
            if tables.is_leased(db, &key, now_ms)? {
                return Ok(Ok(Claim::Taken(grant)));
            }
            let lease = format!("{}/{random}", db.run_id());
            let until = now_ms.saturating_add(millis_of(time));
            db.execute(
                "UPDATE oauth_grants SET lease = ?4, lease_until_ms = ?5
                 WHERE app = ?1 AND subject = ?2 AND client = ?3",
                params![key.app, key.subject, key.client, lease, until],
            )?;
            Ok(Ok(Claim::Leased(grant, GrantLease(lease))))
        };
        self.write(work).await
    }

    /// Stores refreshed tokens, unless the grant was changed or removed since it was claimed. Returns the grant as
    /// it is then.
    pub(crate) async fn refreshed(
        &self,
        key: &GrantKey,
        claimed: &Grant,
        tokens: Tokens,
        now_ms: i64,
    ) -> Result<Result<Option<Grant>, Unreadable>, OAuthError> {
        let (key, revision) = (key.clone(), claimed.revision);
        let work = move |db: &Transaction<'_>, tables: &Self| {
            let (access, refresh) = tables.seal(&key, &tokens)?;
            let scopes = tokens.scopes.as_deref().map(join);
            db.execute(
                "UPDATE oauth_grants SET access = :access, refresh = coalesce(:refresh, refresh),
                     scopes = coalesce(:scopes, scopes), issued_ms = :now, expires_ms = :expires,
                     revision = revision + 1, lease = NULL, failures = 0, retry_ms = 0
                 WHERE app = :app AND subject = :subject AND client = :client AND revision = :revision",
                named_params! {
                    ":app": key.app, ":subject": key.subject, ":client": key.client,
                    ":access": access, ":refresh": refresh, ":scopes": scopes,
                    ":now": now_ms, ":expires": expires_ms(&tokens, now_ms), ":revision": revision,
                },
            )?;
            tables.find(db, &key)
        };
        self.write(work).await
    }

    /// Removes a refresh token that the server rejected, unless another is stored by now. The access token is
    /// kept. Returns the grant as it is then.
    pub(crate) async fn rejected(
        &self,
        key: &GrantKey,
        refresh_token: &Secret,
        lease: GrantLease,
    ) -> Result<Result<Option<Grant>, Unreadable>, OAuthError> {
        let (key, refresh_token) = (key.clone(), refresh_token.clone());
        let work = move |db: &Transaction<'_>, tables: &Self| {
            let row = tables.find(db, &key)?;
            if let Ok(Some(grant)) = &row
                && grant.refresh.as_ref() == Some(&refresh_token)
            {
                db.execute(
                    "UPDATE oauth_grants SET refresh = NULL, revision = revision + 1
                     WHERE app = ?1 AND subject = ?2 AND client = ?3",
                    params![key.app, key.subject, key.client],
                )?;
            }
            release(db, &key, &lease)?;
            tables.find(db, &key)
        };
        self.write(work).await
    }

    /// Records a failure and until when no refresh is sent: twice as long after each, or as long as the server
    /// asked. Returns that time. Nothing else is changed.
    pub(crate) async fn failed(
        &self,
        key: &GrantKey,
        lease: GrantLease,
        retry_after: Option<Duration>,
        now_ms: i64,
    ) -> Result<i64, OAuthError> {
        let key = key.clone();
        let work = move |db: &Transaction<'_>, _: &Self| {
            let failures = db.query_optional(
                "UPDATE oauth_grants SET failures = failures + 1
                 WHERE app = ?1 AND subject = ?2 AND client = ?3 RETURNING failures",
                params![key.app, key.subject, key.client],
                |row| row.get::<i64>(0),
            );
            let failures = failures?.unwrap_or(1);
            let doublings = u32::try_from(failures - 1).unwrap_or(0).min(10);
            let retry_after_ms = retry_after.map_or(0, millis_of).min(RETRY_AFTER_MAX_MS);
            let pause = (1000_i64 << doublings)
                .min(PAUSE_MAX_MS)
                .max(retry_after_ms);
            let retry_ms = now_ms.saturating_add(pause);
            db.execute(
                "UPDATE oauth_grants SET retry_ms = ?4
                 WHERE app = ?1 AND subject = ?2 AND client = ?3",
                params![key.app, key.subject, key.client, retry_ms],
            )?;
            release(db, &key, &lease)?;
            Ok(retry_ms)
        };
        self.write(work).await
    }

    /// Marks an access token as expired, unless another is stored by now.
    pub(crate) async fn expire(&self, key: &GrantKey, token: &Secret) -> Result<(), OAuthError> {
        let (key, token) = (key.clone(), token.clone());
        let work = move |db: &Transaction<'_>, tables: &Self| {
            let row = tables.find(db, &key)?;
            if let Ok(Some(grant)) = row
                && grant.access == token
            {
                db.execute(
                    "UPDATE oauth_grants SET expires_ms = 0
                     WHERE app = ?1 AND subject = ?2 AND client = ?3",
                    params![key.app, key.subject, key.client],
                )?;
            }
            Ok(())
        };
        self.write(work).await
    }

    pub(crate) async fn list_grants(&self) -> Result<Vec<Listed>, OAuthError> {
        self.read(|db, _| {
            let select =
                "SELECT app, subject, client, scopes, granted_ms, expires_ms, refresh IS NOT NULL
                 FROM oauth_grants ORDER BY app, subject, client";
            let rows = db.query_map(select, (), |row| {
                Ok(Listed {
                    key: GrantKey {
                        app: row.get(0)?,
                        subject: row.get(1)?,
                        client: row.get(2)?,
                    },
                    scopes: split(&row.get::<String>(3)?),
                    granted_ms: row.get(4)?,
                    expires_ms: row.get(5)?,
                    can_refresh: row.get(6)?,
                })
            })?;
            Ok(rows)
        })
        .await
    }

    /// Removes grants and open sessions of an app and a subject: of one client, or of all.
    pub(crate) async fn remove(
        &self,
        app: &str,
        subject: &str,
        client: Option<&str>,
    ) -> Result<usize, OAuthError> {
        let (app, subject) = (app.to_owned(), subject.to_owned());
        let client = client.map(str::to_owned);
        let work = move |db: &Transaction<'_>, _: &Self| {
            let which =
                "WHERE app = ?1 AND subject = ?2 AND (CAST(?3 AS TEXT) IS NULL OR client = ?3)";
            let of = params![app, subject, client];
            db.execute(&format!("DELETE FROM oauth_sessions {which}"), of)?;
            db.execute(&format!("DELETE FROM oauth_grants {which}"), of)
        };
        self.write(work).await
    }

    fn find(
        &self,
        db: &Transaction<'_>,
        key: &GrantKey,
    ) -> sql::Result<Result<Option<Grant>, Unreadable>> {
        let select =
            "SELECT asked, scopes, access, refresh, issued_ms, expires_ms, revision, retry_ms
             FROM oauth_grants WHERE app = ?1 AND subject = ?2 AND client = ?3";
        let of = params![key.app, key.subject, key.client];
        let query = db.query_optional(select, of, |row| self.open_row(key, row));
        Ok(query?.transpose())
    }

    fn open_row(&self, key: &GrantKey, row: &Row<'_>) -> sql::Result<Result<Grant, Unreadable>> {
        let access: Vec<u8> = row.get(2)?;
        let refresh: Option<Vec<u8>> = row.get(3)?;
        let open = |column, sealed: &[u8]| {
            let plaintext = self.cipher.open(
                place(&[&key.app, &key.subject, &key.client], column),
                sealed,
            );
            plaintext.ok_or(Unreadable)
        };
        let refresh = refresh.map(|sealed| open("refresh", &sealed)).transpose();
        let (access, refresh) = match (open("access", &access), refresh) {
            (Ok(access), Ok(refresh)) => (access, refresh),
            (Err(unreadable), _) | (_, Err(unreadable)) => return Ok(Err(unreadable)),
        };
        Ok(Ok(Grant {
            asked: split(&row.get::<String>(0)?),
            scopes: split(&row.get::<String>(1)?),
            access,
            refresh,
            issued_ms: row.get(4)?,
            expires_ms: row.get(5)?,
            revision: row.get(6)?,
            retry_ms: row.get(7)?,
        }))
    }

    fn is_leased(&self, db: &Transaction<'_>, key: &GrantKey, now_ms: i64) -> sql::Result<bool> {
        let select = "SELECT lease FROM oauth_grants
             WHERE app = ?1 AND subject = ?2 AND client = ?3 AND lease IS NOT NULL AND lease_until_ms > ?4";
        let of = params![key.app, key.subject, key.client, now_ms];
        let lease: Option<String> = db.query_optional(select, of, |row| row.get(0))?;
        let run_id = lease.as_deref().and_then(|lease| lease.split('/').next());
        run_id.map_or(Ok(false), |run_id| db.is_alive(run_id))
    }

    fn seal(&self, key: &GrantKey, tokens: &Tokens) -> sql::Result<(Vec<u8>, Option<Vec<u8>>)> {
        let row = [key.app.as_str(), key.subject.as_str(), key.client.as_str()];
        let seal = |column, token: &Secret| {
            let sealed = self.cipher.seal(place(&row, column), token);
            sealed.map_err(|error| sql::Error::Unstorable(error.into()))
        };
        let refresh = tokens.refresh.as_ref();
        let refresh = refresh.map(|token| seal("refresh", token)).transpose()?;
        Ok((seal("access", &tokens.access)?, refresh))
    }
}

fn place<'a>(row: &'a [&'a str], column: &'static str) -> ValuePlace<'a> {
    ValuePlace {
        table: "oauth_grants",
        row,
        column,
    }
}

fn release(db: &Transaction<'_>, key: &GrantKey, lease: &GrantLease) -> sql::Result<()> {
    let update = "UPDATE oauth_grants SET lease = NULL
         WHERE app = ?1 AND subject = ?2 AND client = ?3 AND lease = ?4";
    db.execute(update, params![key.app, key.subject, key.client, lease.0])
        .map(drop)
}

fn expires_ms(tokens: &Tokens, now_ms: i64) -> Option<i64> {
    let lifetime = tokens.expires_in.map(millis_of);
    lifetime.map(|lifetime| now_ms.saturating_add(lifetime))
}
