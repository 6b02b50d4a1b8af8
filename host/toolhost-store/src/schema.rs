//! The tables of one owner.

use rusqlite::{Connection, OptionalExtension, Transaction};

/// `PRAGMA user_version` of a database whose owners each have a version. Up to 3 the number was the
/// version of all tables.
pub(crate) const FORMAT: i64 = 4;

/// The row of `schema_versions` that keeps the `user_version` that the database had before [`FORMAT`].
const LEGACY: &str = "";

/// The tables of one owner, as the steps that make them.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Name of the owner in the table `schema_versions`.
    pub owner: &'static str,
    /// SQL of each step: step `n` leads from version `n` to version `n + 1`. A step that was released
    /// is never changed; a change is one more step at the end.
    pub steps: &'static [&'static str],
    /// The same for PostgreSQL, which has a history of its own: its first step makes what all steps of SQLite make together
    /// that were released by then.
    pub postgres: &'static [&'static str],
    /// For each step that was released before owners had versions: the `user_version` of the database
    /// after it.
    pub legacy_versions: &'static [i64],
}

/// How far a database is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version {
    /// `PRAGMA user_version`.
    pub(crate) format: i64,
    /// The steps of the owner that have been run.
    pub(crate) steps: i64,
}

impl Schema {
    pub(crate) fn latest(&self) -> i64 {
        i64::try_from(self.steps.len()).unwrap_or(i64::MAX)
    }

    pub(crate) fn version(&self, db: &Connection) -> rusqlite::Result<Version> {
        let format = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let steps = match format {
            FORMAT => self.owner_version(db)?,
            _ => self.after_legacy(format),
        };
        Ok(Version { format, steps })
    }

    fn owner_version(&self, db: &Connection) -> rusqlite::Result<i64> {
        let select = "SELECT version FROM schema_versions WHERE owner = ?1";
        let of = |owner: &str| {
            let version = db.query_row(select, [owner], |row| row.get(0));
            version.optional()
        };
        Ok(match of(self.owner)? {
            Some(version) => version,
            None => self.after_legacy(of(LEGACY)?.unwrap_or_default()),
        })
    }

    /// Steps that had been run in a database of an earlier format.
    fn after_legacy(&self, user_version: i64) -> i64 {
        let run = self.legacy_versions.iter().filter(|v| **v <= user_version);
        i64::try_from(run.count()).unwrap_or(i64::MAX)
    }

    pub(crate) fn migrate(&self, db: &Transaction<'_>, from: Version) -> rusqlite::Result<()> {
        if from.format < FORMAT {
            db.execute_batch(
                "CREATE TABLE schema_versions (
                    owner TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL
                ) STRICT",
            )?;
            self.set_version(db, LEGACY, from.format)?;
            db.pragma_update(None, "user_version", FORMAT)?;
        }
        let done = usize::try_from(from.steps).unwrap_or_default();
        let missing = self.steps.get(done..).unwrap_or_default();
        for step in missing {
            db.execute_batch(step)?;
        }
        if missing.is_empty() {
            return Ok(());
        }
        self.set_version(db, self.owner, self.latest())
    }

    fn set_version(&self, db: &Connection, owner: &str, version: i64) -> rusqlite::Result<()> {
        let set = "INSERT OR REPLACE INTO schema_versions (owner, version) VALUES (?1, ?2)";
        db.execute(set, (owner, version)).map(drop)
    }
}
