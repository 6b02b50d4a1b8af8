//! Changesets in the database of the state root.
//!
//! A row for each changeset, and one for each file that it read, wrote or deleted. The contents of written
//! files lie in `changesets/{id}`; the rows name them. Nothing else describes a changeset.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use toolhost_store::sql::{self, Transaction};
use toolhost_store::{Schema, Store, StoreError};

use crate::entry::Digest;
use crate::limits::CLOSED_KEPT;
use crate::owner::ChangesetOwner;

const SCHEMA: Schema = Schema {
    owner: "changesets",
    steps: &[include_str!("records.sql")],
    // The files of changesets lie in the state root, and so do their rows.
    postgres: &[],
    legacy_versions: &[],
};

/// The state of a changeset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// The run of the store that commits it.
    Committing {
        run_id: String,
    },
    Committed,
    Discarded,
}

impl State {
    fn parse(state: &str, run_id: Option<String>) -> Self {
        match state {
            "open" => Self::Open,
            "committing" => Self::Committing {
                run_id: run_id.unwrap_or_default(),
            },
            "committed" => Self::Committed,
            _ => Self::Discarded,
        }
    }

    /// Returns the state in words, for errors.
    pub(crate) fn text(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Committing { .. } => "being committed",
            Self::Committed => "committed",
            Self::Discarded => "discarded",
        }
    }
}

/// How a commit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Committed,
    /// Nothing was changed.
    Open,
}

/// A file of a changeset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRow {
    /// The digest of the bundle's file when the changeset saw it last; none if there was none.
    pub(crate) base: Option<Digest>,
    pub(crate) version: FileVersion,
}

/// The version of a file in a changeset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileVersion {
    /// That of the bundle: the changeset has read it.
    Bundle,
    /// The name of its content in the directory of the changeset.
    Content(String),
    Deleted,
}

/// The files of a changeset, by path.
pub(crate) type FileRows = BTreeMap<String, FileRow>;

/// The changesets of a state root. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Records(Store);

impl Records {
    pub(crate) fn open(state_root: &Path) -> Result<Self, StoreError> {
        Ok(Self(Store::open_local(state_root, &SCHEMA)?))
    }

    /// Returns whether the run that commits a changeset is another one that is alive.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) async fn is_elsewhere(&self, run_id: &str) -> Result<bool, StoreError> {
        let run_id = run_id.to_owned();
        let elsewhere = self
            .0
            .read(move |db| Ok(run_id != db.run_id() && db.is_alive(&run_id)?));
        elsewhere.await
    }

    /// Adds an open changeset, if the owner has fewer than `max`. Returns whether it did.
    pub(crate) async fn insert(
        &self,
        id: &str,
        owner: &ChangesetOwner,
        max: usize,
    ) -> Result<bool, StoreError> {
        let (id, owner) = (id.to_owned(), owner.clone());
        let insert = move |db: &Transaction<'_>| {
            forget_closed(db)?;
            if open_of(db, &owner)?.len() >= max {
                return Ok(false);
            }
            let insert = "INSERT INTO changesets (id, bundle, agent, instance, state, changed_at)
                VALUES (?1, ?2, ?3, ?4, 'open', ?5)";
            let ChangesetOwner {
                bundle,
                agent,
                instance,
            } = &owner;
            db.execute(insert, (&id, bundle, agent, instance, now()))?;
            Ok(true)
        };
        self.0.write(insert).await
    }

    /// Returns the ids of the owner's changesets that are not closed, the oldest first.
    pub(crate) async fn open_of(&self, owner: &ChangesetOwner) -> Result<Vec<String>, StoreError> {
        let owner = owner.clone();
        self.0.read(move |db| open_of(db, &owner)).await
    }

    /// Returns the state and the files of a changeset; none if the owner has no such changeset.
    pub(crate) async fn find(
        &self,
        id: &str,
        owner: &ChangesetOwner,
    ) -> Result<Option<(State, FileRows)>, StoreError> {
        let (id, owner) = (id.to_owned(), owner.clone());
        let find = move |db: &Transaction<'_>| {
            let state = state_of(db, &id, &owner)?;
            state.map(|state| Ok((state, files(db, &id)?))).transpose()
        };
        self.0.read(find).await
    }

    /// Sets the row of a file, if the changeset is open. Returns whether it did.
    pub(crate) async fn set_file(
        &self,
        id: &str,
        path: &str,
        row: FileRow,
    ) -> Result<bool, StoreError> {
        let (id, path) = (id.to_owned(), path.to_owned());
        let set = move |db: &Transaction<'_>| {
            let (content, deleted) = match &row.version {
                FileVersion::Bundle => (None, false),
                FileVersion::Content(name) => (Some(name), false),
                FileVersion::Deleted => (None, true),
            };
            let set = "INSERT INTO changeset_files (changeset, path, base, content, deleted)
                SELECT ?1, ?2, ?3, ?4, ?5 FROM changesets WHERE id = ?1 AND state = 'open'
                ON CONFLICT (changeset, path) DO UPDATE SET base = excluded.base,
                    content = excluded.content, deleted = excluded.deleted";
            let base = row.base.map(|digest| HEXLOWER.encode(&digest));
            let changed = db.execute(set, (&id, &path, base, content, deleted))?;
            Ok(changed == 1)
        };
        self.0.write(set).await
    }

    /// Begins a commit of an open changeset, and returns its files; none if it is not open.
    pub(crate) async fn begin_commit(&self, id: &str) -> Result<Option<FileRows>, StoreError> {
        let id = id.to_owned();
        let begin = move |db: &Transaction<'_>| {
            let begin = "UPDATE changesets SET state = 'committing', run_id = ?2, changed_at = ?3
                WHERE id = ?1 AND state = 'open'";
            match db.execute(begin, (&id, db.run_id(), now()))? {
                1 => files(db, &id).map(Some),
                _ => Ok(None),
            }
        };
        self.0.write(begin).await
    }

    /// Ends a commit that this run, or one that is no longer alive, has begun.
    pub(crate) async fn end_commit(&self, id: &str, ended: Ended) -> Result<(), StoreError> {
        let id = id.to_owned();
        let state = match ended {
            Ended::Committed => "committed",
            Ended::Open => "open",
        };
        let end = move |db: &Transaction<'_>| {
            let end = "UPDATE changesets SET state = ?2, run_id = NULL, changed_at = ?3
                WHERE id = ?1 AND state = 'committing'";
            db.execute(end, (&id, state, now()))?;
            if ended == Ended::Committed {
                db.execute("DELETE FROM changeset_files WHERE changeset = ?1", [&id])?;
            }
            Ok(())
        };
        self.0.write(end).await
    }

    /// Closes an open changeset without a commit. Returns whether it was open.
    pub(crate) async fn discard(&self, id: &str) -> Result<bool, StoreError> {
        let id = id.to_owned();
        let discard = move |db: &Transaction<'_>| {
            let discard = "UPDATE changesets SET state = 'discarded', changed_at = ?2
                WHERE id = ?1 AND state = 'open'";
            let changed = db.execute(discard, (&id, now()))?;
            if changed == 1 {
                db.execute("DELETE FROM changeset_files WHERE changeset = ?1", [&id])?;
            }
            Ok(changed == 1)
        };
        self.0.write(discard).await
    }
}

fn open_of(db: &Transaction<'_>, owner: &ChangesetOwner) -> sql::Result<Vec<String>> {
    let select = "SELECT id FROM changesets WHERE bundle = ?1 AND agent = ?2 AND instance = ?3
        AND state IN ('open', 'committing') ORDER BY rowid";
    let of = (&owner.bundle, &owner.agent, &owner.instance);
    db.query_map(select, of, |row| row.get(0))
}

fn state_of(db: &Transaction<'_>, id: &str, owner: &ChangesetOwner) -> sql::Result<Option<State>> {
    let select = "SELECT state, run_id FROM changesets
        WHERE id = ?1 AND bundle = ?2 AND agent = ?3 AND instance = ?4";
    let of = (id, &owner.bundle, &owner.agent, &owner.instance);
    db.query_optional(select, of, |row| {
        let state: String = row.get(0)?;
        Ok(State::parse(&state, row.get(1)?))
    })
}

fn files(db: &Transaction<'_>, id: &str) -> sql::Result<FileRows> {
    let select = "SELECT path, base, content, deleted FROM changeset_files WHERE changeset = ?1";
    let rows = db.query_map(select, [id], |row| {
        let content: Option<String> = row.get(2)?;
        let version = match (row.get(3)?, content) {
            (true, _) => FileVersion::Deleted,
            (false, Some(name)) => FileVersion::Content(name),
            (false, None) => FileVersion::Bundle,
        };
        let base: Option<String> = row.get(1)?;
        let base = base.as_deref().map(parse_digest).transpose()?;
        Ok((row.get(0)?, FileRow { base, version }))
    })?;
    Ok(rows.into_iter().collect())
}

/// Reads the digest in the column `base`.
fn parse_digest(text: &str) -> sql::Result<Digest> {
    let bytes = HEXLOWER.decode(text.as_bytes()).ok();
    let digest = bytes.and_then(|bytes| Digest::try_from(bytes).ok());
    digest.ok_or_else(|| {
        let reason = "`base` of a file of a changeset is not 64 hexadecimal digits";
        sql::Error::unreadable("base", reason)
    })
}

/// Removes the rows of changesets that were closed long ago.
fn forget_closed(db: &Transaction<'_>) -> sql::Result<()> {
    let before = now().saturating_sub(i64::try_from(CLOSED_KEPT.as_secs()).unwrap_or(i64::MAX));
    let forget =
        "DELETE FROM changesets WHERE state IN ('committed', 'discarded') AND changed_at < ?1";
    db.execute(forget, [before]).map(drop)
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}
