//! Reads the ring.

use std::path::Path;
use std::time::SystemTime;

use toolhost_contract::ToolStatus;
use toolhost_runtime::debug_fields;
use toolhost_store::rusqlite::types::Value;
use toolhost_store::rusqlite::{self, OptionalExtension, Transaction, params_from_iter};
use toolhost_store::{SqliteStore, StoreError};

use super::database::{FILE_NAME, SCHEMA};
use super::record::CallRecord;
use super::row::{COLUMNS, TEXT_COLUMNS, facet, key, millis, parent_key, read, status_number};
use super::stats::{self, CallStats};

/// Most calls of a page.
const LIMIT_MAX: usize = 1000;

/// Most rows that are looked up through an index. Where each index has more, reading all rows in order is faster.
const INDEXED_ROWS: i64 = 20_000;

/// KiB of pages that a reader keeps in memory.
const CACHE_KIB: i64 = 64 << 10;

/// The calls of a state root cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the calls of the state root cannot be read")]
pub struct CallLogError(#[from] StoreError);

/// Which calls are asked for: those that meet all conditions, the newest first.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use toolhost::ToolStatus;
/// use toolhost::calls::CallQuery;
///
/// let mut query = CallQuery::default();
/// query.status = Some(ToolStatus::Error);
/// query.since = SystemTime::now().checked_sub(Duration::from_secs(3600));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallQuery {
    /// How they ended.
    pub status: Option<ToolStatus>,
    /// Name of the tool.
    pub tool: Option<String>,
    /// Code of the error.
    pub code: Option<String>,
    /// Name of the agent.
    pub agent: Option<String>,
    /// Key of the instance.
    pub instance: Option<String>,
    /// Words of the tool's name, the error, the arguments or the output, all of them. Where no call has them all, words
    /// that begin with them.
    pub text: Option<String>,
    /// They began at this time or later.
    pub since: Option<SystemTime>,
    /// They began before this time.
    pub until: Option<SystemTime>,
    /// Id of the call, as the model gave it: unique within its message.
    pub call_id: Option<String>,
    /// The inner calls of a call.
    pub made_by: Option<CallRef>,
    /// They have lower ids: the next page.
    pub before: Option<u64>,
    /// They have higher ids. Then the oldest is first.
    pub after: Option<u64>,
    /// Most calls. Default and 0: 100; at most 1,000.
    pub limit: usize,
}

/// A call, for those that it made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRef(i64);

impl From<&CallRecord> for CallRef {
    fn from(call: &CallRecord) -> Self {
        Self(parent_key(&call.instance, &call.turn, &call.call_id))
    }
}

/// What a search returns.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallPage {
    /// The calls, without arguments and outputs.
    pub calls: Vec<CallRecord>,
    /// [`CallQuery::before`] of the next page, if there may be one.
    pub next: Option<u64>,
    /// Calls in the time of the query that are missing, because they came faster than they could be written.
    pub lost: u64,
}

/// The calls that hosts keep in a state root, also those of other processes, which may run or have ended. Cheap to clone.
#[derive(Clone)]
pub struct CallLog(SqliteStore);

debug_fields!(CallLog);

/// A condition on a column of `calls`, and the index on it.
struct Condition {
    sql: &'static str,
    index: Option<&'static str>,
    /// The column, if the texts have the [`facet`].
    facet: Option<char>,
    value: i64,
}

impl CallLog {
    /// Opens the calls of a state root; none if it has none. Blocks for some milliseconds.
    ///
    /// # Errors
    /// [`CallLogError`] if the database is damaged, locked, of a newer version or not this user's.
    pub fn open(state_root: &Path) -> Result<Option<Self>, CallLogError> {
        if !state_root.join(FILE_NAME).is_file() {
            return Ok(None);
        }
        let store = SqliteStore::open(state_root, FILE_NAME, &SCHEMA)?;
        Ok(Some(Self(store)))
    }

    /// Searches the calls.
    ///
    /// # Errors
    /// [`CallLogError`] if the database cannot be read.
    pub async fn search(&self, query: CallQuery) -> Result<CallPage, CallLogError> {
        let page = self.0.read(move |tx| query.page(tx)).await;
        Ok(page?)
    }

    /// Returns a call with its arguments and its output.
    ///
    /// # Errors
    /// [`CallLogError`] if the database cannot be read.
    pub async fn get(&self, id: u64) -> Result<Option<CallRecord>, CallLogError> {
        let call = self.0.read(move |tx| {
            let select = format!(
                "SELECT {COLUMNS}{TEXT_COLUMNS} FROM calls c JOIN details d USING (id) WHERE c.id = ?1"
            );
            let mut select = tx.prepare_cached(&select)?;
            let id = i64::try_from(id).unwrap_or(i64::MAX);
            select.query_row([id], |row| read(row, true)).optional()
        });
        Ok(call.await?)
    }

    /// Counts the calls of a time.
    ///
    /// # Errors
    /// [`CallLogError`] if the database cannot be read.
    pub async fn stats(
        &self,
        since: SystemTime,
        until: SystemTime,
    ) -> Result<CallStats, CallLogError> {
        let (since, until) = (millis(since), millis(until));
        Ok(self.0.read(move |tx| stats::of(tx, since, until)).await?)
    }
}

impl CallQuery {
    fn conditions(&self) -> Vec<Condition> {
        let condition = |sql, index, facet, value| Condition {
            sql,
            index,
            facet,
            value,
        };
        let named = |sql, index, facet, name: &Option<String>| {
            let name = name.as_ref()?;
            Some(condition(sql, Some(index), Some(facet), key(name)))
        };
        let status = self.status.map(|status| {
            // The index has no calls that succeeded.
            let index = (status != ToolStatus::Ok).then_some("calls_status");
            let sql = if index.is_some() {
                "c.status = ? AND c.status > 0"
            } else {
                "c.status = ?"
            };
            condition(sql, index, Some('s'), status_number(status))
        });
        [
            named("c.tool = ?", "calls_tool", 't', &self.tool),
            named("c.code = ?", "calls_code", 'c', &self.code),
            named("c.agent = ?", "calls_agent", 'a', &self.agent),
            named("c.instance = ?", "calls_instance", 'i', &self.instance),
            self.call_id
                .as_ref()
                .map(|id| condition("c.call = ?", Some("calls_call"), None, key(id))),
            self.made_by.as_ref().map(|CallRef(key)| {
                condition("c.parent = ?", Some("calls_parent"), Some('p'), *key)
            }),
            status,
            self.since
                .map(|time| condition("c.time >= ?", Some("calls_time"), None, millis(time))),
            self.until
                .map(|time| condition("c.time < ?", None, None, millis(time))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The ids between which a page lies.
    fn ids(&self) -> (i64, i64) {
        let number = |id| i64::try_from(id).unwrap_or(i64::MAX);
        (
            self.after.map_or(0, number),
            self.before.map_or(i64::MAX, number),
        )
    }

    fn page(&self, tx: &Transaction<'_>) -> rusqlite::Result<CallPage> {
        tx.pragma_update(None, "cache_size", -CACHE_KIB)?;
        let mut select = Select::new(self.conditions(), tx)?;
        if let Some(text) = self.text.as_deref() {
            select.with_text(text, tx)?;
        }
        let limit = match self.limit {
            0 => 100,
            limit => limit.min(LIMIT_MAX),
        };
        let direction = if self.after.is_some() { "ASC" } else { "DESC" };
        let calls = select.run(self.ids(), direction, limit, tx)?;
        let last = calls.last().filter(|_| calls.len() == limit);
        Ok(CallPage {
            next: last.map(|call| call.id),
            lost: self.lost(tx)?,
            calls,
        })
    }

    fn lost(&self, tx: &Transaction<'_>) -> rusqlite::Result<u64> {
        let since = self.since.map_or(0, millis);
        let until = self.until.map_or(i64::MAX, millis);
        let select = "SELECT coalesce(sum(count), 0) FROM losses WHERE time >= ?1 AND time < ?2";
        let lost: i64 = tx.query_row(select, (since, until), |row| row.get(0))?;
        Ok(u64::try_from(lost).unwrap_or_default())
    }
}

/// How the calls that meet conditions are read.
struct Select {
    conditions: Vec<Condition>,
    /// The index that is used, unless words are searched.
    index: Option<&'static str>,
    /// The query of the texts.
    words: Option<String>,
}

impl Select {
    /// Chooses the index with the fewest rows, if these are few enough to be looked up one by one.
    fn new(conditions: Vec<Condition>, tx: &Transaction<'_>) -> rusqlite::Result<Self> {
        let (mut rows, mut best) = (INDEXED_ROWS, None);
        for condition in &conditions {
            let Some(index) = condition.index else {
                continue;
            };
            let count = format!(
                "SELECT count(*) FROM (SELECT 1 FROM calls c INDEXED BY {index} WHERE {} LIMIT {INDEXED_ROWS})",
                condition.sql
            );
            let mut count = tx.prepare_cached(&count)?;
            let count: i64 = count.query_row([condition.value], |row| row.get(0))?;
            if count < rows {
                (rows, best) = (count, Some(index));
            }
        }
        Ok(Self {
            conditions,
            index: best,
            words: None,
        })
    }

    /// Adds the condition on the text: its words, or where no call has all of them, words that begin with them. The
    /// conditions are part of it.
    fn with_text(&mut self, text: &str, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut all = words(text, "");
        if all.is_empty() {
            return Ok(());
        }
        let exists = "SELECT EXISTS (SELECT 1 FROM texts WHERE texts MATCH ?1)";
        let is_found: bool = tx.query_row(exists, [all.join(" AND ")], |row| row.get(0))?;
        if !is_found {
            all = words(text, "*");
        }
        all.extend(self.conditions.iter().filter_map(|condition| {
            let facet = facet(condition.facet?, condition.value);
            Some(format!("\"{facet}\""))
        }));
        self.words = Some(all.join(" AND "));
        Ok(())
    }

    fn run(
        &self,
        (after, before): (i64, i64),
        direction: &str,
        limit: usize,
        tx: &Transaction<'_>,
    ) -> rusqlite::Result<Vec<CallRecord>> {
        let mut filter = String::new();
        let mut values: Vec<Value> = Vec::new();
        let (from, id) = match (&self.words, self.index) {
            (Some(words), _) => {
                filter.push_str("texts MATCH ? AND ");
                values.push(words.clone().into());
                let joined = "texts CROSS JOIN calls c ON c.id = texts.rowid";
                (joined.to_owned(), "texts.rowid")
            }
            (None, Some(index)) => (format!("calls c INDEXED BY {index}"), "c.id"),
            (None, None) => ("calls c NOT INDEXED".to_owned(), "c.id"),
        };
        for condition in &self.conditions {
            filter.push_str(condition.sql);
            filter.push_str(" AND ");
            values.push(condition.value.into());
        }
        values.extend([after, before].map(Value::from));
        let select = format!(
            "SELECT {COLUMNS} FROM {from} CROSS JOIN details d ON d.id = c.id WHERE {filter} \
             {id} > ? AND {id} < ? ORDER BY {id} {direction} LIMIT {limit}"
        );
        let mut select = tx.prepare_cached(&select)?;
        let rows = select.query_map(params_from_iter(values), |row| read(row, false))?;
        rows.collect()
    }
}

/// Returns the words of a text for a query of FTS5, each followed by `end`.
fn words(text: &str, end: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(|word| format!("\"{word}\"{end}")).collect()
}
