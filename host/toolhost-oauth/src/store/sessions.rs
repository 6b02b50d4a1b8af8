//! The table of sessions: authorizations that have begun.

use subtle::ConstantTimeEq as _;
use toolhost_store::sql::{self, Row, Transaction, named_params, params};

use super::{GrantKey, Tables, Unreadable, join, split};
use crate::answer::Tokens;
use crate::cipher::ValuePlace;
use crate::error::OAuthError;
use crate::secret::Secret;

/// Open sessions of one grant's key. The oldest make room.
const SESSIONS_MAX: i64 = 16;

/// A session.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) key: GrantKey,
    pub(crate) scopes: Vec<String>,
    pub(crate) expires_ms: i64,
    pub(crate) flow: SessionFlow,
}

/// What a session waits for.
#[derive(Debug, Clone)]
pub(crate) enum SessionFlow {
    /// A callback.
    Code {
        redirect: String,
        state: Secret,
        verifier: Secret,
    },
    /// An answer of the server, which may be asked after a time.
    Device {
        /// The server's answer that began it, as JSON.
        answer: Secret,
        interval_ms: i64,
        poll_after_ms: i64,
    },
}

/// Why a callback has no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoSession {
    Unknown,
    StateMismatch,
    Expired,
}

impl Tables {
    /// Stores a session, and removes those that have expired.
    pub(crate) async fn put_session(
        &self,
        session: Session,
        now_ms: i64,
    ) -> Result<(), OAuthError> {
        self.write(move |db, tables| {
            db.execute(
                "DELETE FROM oauth_sessions WHERE expires_ms <= ?1",
                [now_ms],
            )?;
            let key = &session.key;
            db.execute(
                "DELETE FROM oauth_sessions WHERE id IN (
                     SELECT id FROM oauth_sessions WHERE app = ?1 AND subject = ?2 AND client = ?3
                     ORDER BY created_ms DESC, id LIMIT 1000000 OFFSET ?4)",
                params![key.app, key.subject, key.client, SESSIONS_MAX - 1],
            )?;
            tables.insert(db, &session, now_ms)
        })
        .await
    }

    /// Returns a session that waits for the same, if there is one: it is used again, so that calls do not
    /// fill the store and a person has one link. `redirect` is none for device codes.
    pub(crate) async fn open_session(
        &self,
        key: &GrantKey,
        scopes: &[String],
        redirect: Option<&str>,
        expires_after_ms: i64,
    ) -> Result<Option<Session>, OAuthError> {
        let (key, scopes) = (key.clone(), join(scopes));
        let redirect = redirect.map(str::to_owned);
        let work = move |db: &Transaction<'_>, tables: &Self| {
            let select = format!(
                "{SELECT} WHERE app = ?1 AND subject = ?2 AND client = ?3 AND scopes = ?4
                     AND redirect IS NOT DISTINCT FROM ?5 AND expires_ms > ?6 ORDER BY expires_ms DESC LIMIT 1"
            );
            let of = params![
                key.app,
                key.subject,
                key.client,
                scopes,
                redirect,
                expires_after_ms
            ];
            let session = db.query_optional(&select, of, |row| tables.opened_session(row));
            // One that does not open is of no use, and not in the way.
            Ok(session?.and_then(Result::ok))
        };
        self.read(work).await
    }

    /// Takes the session of a callback, which then is used up. One with another state stays: a stranger's
    /// callback must not end it. Spec: requirements-v1 §12.6.4 (3).
    pub(crate) async fn take_session(
        &self,
        id: &str,
        state: Secret,
        now_ms: i64,
    ) -> Result<Result<Session, NoSession>, OAuthError> {
        let id = id.to_owned();
        self.write(move |db, tables| {
            let session = match tables.find_session(db, &id)? {
                Some(Ok(session)) => session,
                Some(Err(Unreadable)) | None => return Ok(Err(NoSession::Unknown)),
            };
            let SessionFlow::Code { state: own, .. } = &session.flow else {
                return Ok(Err(NoSession::Unknown));
            };
            let (own, state) = (own.expose().as_bytes(), state.expose().as_bytes());
            if !bool::from(own.ct_eq(state)) {
                return Ok(Err(NoSession::StateMismatch));
            }
            remove(db, &id)?;
            Ok(if session.expires_ms > now_ms {
                Ok(session)
            } else {
                Err(NoSession::Expired)
            })
        })
        .await
    }

    /// Takes the next request for a device's session, if it is time for one, and keeps others from sending one
    /// before the interval is over.
    pub(crate) async fn take_poll(
        &self,
        id: &str,
        now_ms: i64,
    ) -> Result<Option<(Session, bool)>, OAuthError> {
        let id = id.to_owned();
        self.write(move |db, tables| {
            let Some(Ok(session)) = tables.find_session(db, &id)? else {
                return Ok(None);
            };
            let SessionFlow::Device {
                interval_ms,
                poll_after_ms,
                ..
            } = session.flow
            else {
                return Ok(None);
            };
            if session.expires_ms <= now_ms {
                remove(db, &id)?;
                return Ok(None);
            }
            let may_poll = poll_after_ms <= now_ms;
            if may_poll {
                let next = now_ms.saturating_add(interval_ms);
                let update = "UPDATE oauth_sessions SET poll_after_ms = ?2 WHERE id = ?1";
                db.execute(update, params![id, next])?;
            }
            Ok(Some((session, may_poll)))
        })
        .await
    }

    /// Sets when a device's session may be asked about again.
    pub(crate) async fn postpone_poll(
        &self,
        id: &str,
        interval_ms: i64,
        poll_after_ms: i64,
    ) -> Result<(), OAuthError> {
        let id = id.to_owned();
        self.write(move |db, _| {
            let update =
                "UPDATE oauth_sessions SET interval_ms = ?2, poll_after_ms = ?3 WHERE id = ?1";
            db.execute(update, params![id, interval_ms, poll_after_ms])
                .map(drop)
        })
        .await
    }

    /// Ends a session with the grant that came of it: both in one transaction. Spec: requirements-v1 §12.6.4 (5).
    pub(crate) async fn grant_session(
        &self,
        session: &Session,
        tokens: Tokens,
        now_ms: i64,
    ) -> Result<(), OAuthError> {
        let session = session.clone();
        self.write(move |db, tables| {
            tables.put_grant(db, &session.key, &session.scopes, &tokens, now_ms)?;
            remove(db, &session.id)
        })
        .await
    }

    pub(crate) async fn remove_session(&self, id: &str) -> Result<(), OAuthError> {
        let id = id.to_owned();
        self.write(move |db, _| remove(db, &id)).await
    }

    fn insert(&self, db: &Transaction<'_>, session: &Session, now_ms: i64) -> sql::Result<()> {
        let key = &session.key;
        let row = place_of(session);
        let seal = |column, value: &Secret| {
            let sealed = self.cipher.seal(place(&row, column), value);
            sealed.map_err(|error| sql::Error::Unstorable(error.into()))
        };
        let (flow, redirect, state, verifier, device, interval, poll_after) = match &session.flow {
            SessionFlow::Code {
                redirect,
                state,
                verifier,
            } => {
                let (state, verifier) = (seal("state", state)?, seal("verifier", verifier)?);
                let redirect = Some(redirect);
                ("code", redirect, Some(state), Some(verifier), None, 0, 0)
            }
            SessionFlow::Device {
                answer,
                interval_ms,
                poll_after_ms,
            } => {
                let device = Some(seal("device", answer)?);
                let (interval, poll_after) = (*interval_ms, *poll_after_ms);
                ("device", None, None, None, device, interval, poll_after)
            }
        };
        db.execute(
            "INSERT INTO oauth_sessions VALUES (:id, :app, :subject, :client, :flow, :scopes, :redirect,
                 :state, :verifier, :device, :now, :expires, :interval, :poll_after)",
            named_params! {
                ":id": session.id, ":app": key.app, ":subject": key.subject, ":client": key.client,
                ":flow": flow, ":scopes": join(&session.scopes), ":redirect": redirect,
                ":state": state, ":verifier": verifier, ":device": device, ":now": now_ms,
                ":expires": session.expires_ms, ":interval": interval, ":poll_after": poll_after,
            },
        )
        .map(drop)
    }

    fn find_session(
        &self,
        db: &Transaction<'_>,
        id: &str,
    ) -> sql::Result<Option<Result<Session, Unreadable>>> {
        let select = format!("{SELECT} WHERE id = ?1");
        db.query_optional(&select, [id], |row| self.opened_session(row))
    }

    fn opened_session(&self, row: &Row<'_>) -> sql::Result<Result<Session, Unreadable>> {
        let key = GrantKey {
            app: row.get(1)?,
            subject: row.get(2)?,
            client: row.get(3)?,
        };
        let id: String = row.get(0)?;
        let of = [
            id.as_str(),
            key.app.as_str(),
            key.subject.as_str(),
            key.client.as_str(),
        ];
        let open = |column, sealed: Option<Vec<u8>>| {
            let sealed = sealed?;
            self.cipher.open(place(&of, column), &sealed)
        };
        let redirect: Option<String> = row.get(5)?;
        let state = open("state", row.get(6)?);
        let verifier = open("verifier", row.get(7)?);
        let device = open("device", row.get(8)?);
        let flow = match (redirect, state, verifier, device) {
            (Some(redirect), Some(state), Some(verifier), None) => SessionFlow::Code {
                redirect,
                state,
                verifier,
            },
            (None, None, None, Some(answer)) => SessionFlow::Device {
                answer,
                interval_ms: row.get(10)?,
                poll_after_ms: row.get(11)?,
            },
            _ => return Ok(Err(Unreadable)),
        };
        Ok(Ok(Session {
            scopes: split(&row.get::<String>(4)?),
            expires_ms: row.get(9)?,
            id,
            key,
            flow,
        }))
    }
}

const SELECT: &str = "SELECT id, app, subject, client, scopes, redirect, state, verifier, device,
     expires_ms, interval_ms, poll_after_ms FROM oauth_sessions";

fn place_of(session: &Session) -> [&str; 4] {
    let key = &session.key;
    [&session.id, &key.app, &key.subject, &key.client]
}

fn place<'a>(row: &'a [&'a str], column: &'static str) -> ValuePlace<'a> {
    ValuePlace {
        table: "oauth_sessions",
        row,
        column,
    }
}

fn remove(db: &Transaction<'_>, id: &str) -> sql::Result<()> {
    db.execute("DELETE FROM oauth_sessions WHERE id = ?1", [id])
        .map(drop)
}
