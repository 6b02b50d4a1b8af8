//! Reads the ring.

use std::path::Path;
use std::time::SystemTime;

use toolhost_contract::ToolStatus;
use toolhost_runtime::debug_fields;
use toolhost_store::rusqlite::types::Value;
use toolhost_store::rusqlite::{self, OptionalExtension, Transaction, params_from_iter};
use toolhost_store::{Store, StoreError};

use super::record::CallRecord;
use super::row::{COLUMNS, TEXT_COLUMNS, key, millis, parent_key, read, status_number};
use super::{FILE_NAME, SCHEMA};

/// Most calls of a page.
const LIMIT_MAX: usize = 1000;

/// Most rows that are looked up through an index. Where each index has more, reading all rows in order is faster.
const INDEXED_ROWS: i64 = 20_000;

/// Most rows of an index whose texts are looked up one by one. Where it has more, all calls with the words are read.
const LOOKED_UP: i64 = 500;

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
pub struct CallLog(Store);

debug_fields!(CallLog);

/// A condition on a column of `calls`, and the index on it.
struct Condition {
    sql: &'static str,
    index: Option<&'static str>,
    value: Value,
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
        let store = Store::open_apart(state_root, FILE_NAME, &SCHEMA)?;
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

    /// Returns the id of the newest record of a call with this id of the model's.
    ///
    /// # Errors
    /// [`CallLogError`] if the database cannot be read.
    pub async fn find(&self, call_id: &str) -> Result<Option<u64>, CallLogError> {
        let key = key(call_id);
        let select = "SELECT max(id) FROM calls WHERE call = ?1";
        let id = self
            .0
            .read(move |tx| tx.query_row(select, [key], |row| row.get::<_, Option<i64>>(0)));
        Ok(id.await?.and_then(|id| u64::try_from(id).ok()))
    }
}

impl CallQuery {
    fn conditions(&self) -> Vec<Condition> {
        let condition = |sql, index, value: i64| Condition {
            sql,
            index,
            value: value.into(),
        };
        let named = |sql, index, name: &Option<String>| {
            let name = name.as_ref()?;
            Some(condition(sql, Some(index), key(name)))
        };
        let status = self.status.map(|status| {
            // The index has no calls that succeeded.
            let index = (status != ToolStatus::Ok).then_some("calls_status");
            let sql = if index.is_some() {
                "c.status = ? AND c.status > 0"
            } else {
                "c.status = ?"
            };
            condition(sql, index, status_number(status))
        });
        [
            named("c.tool = ?", "calls_tool", &self.tool),
            named("c.code = ?", "calls_code", &self.code),
            named("c.agent = ?", "calls_agent", &self.agent),
            named("c.instance = ?", "calls_instance", &self.instance),
            self.made_by
                .as_ref()
                .map(|CallRef(key)| condition("c.parent = ?", Some("calls_parent"), *key)),
            status,
            self.since
                .map(|time| condition("c.time >= ?", Some("calls_time"), millis(time))),
            self.until
                .map(|time| condition("c.time < ?", None, millis(time))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The conditions that select a page of what is found.
    fn page_conditions(&self) -> Vec<Condition> {
        let ends = [("c.id < ?", self.before), ("c.id > ?", self.after)];
        let ends = ends.into_iter().filter_map(|(sql, id)| Some((sql, id?)));
        ends.map(|(sql, id)| Condition {
            sql,
            index: None,
            value: i64::try_from(id).unwrap_or(i64::MAX).into(),
        })
        .collect()
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
        let calls = select.run(self.page_conditions(), direction, limit, tx)?;
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
    index: Option<&'static str>,
    /// How many rows the index has, if it is used.
    rows: i64,
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
            let count: i64 = count.query_row([&condition.value], |row| row.get(0))?;
            if count < rows {
                (rows, best) = (count, Some(index));
            }
        }
        Ok(Self {
            conditions,
            index: best,
            rows,
            words: None,
        })
    }

    /// Adds the condition on the text: its words, or where no call has all of them, words that begin with them.
    fn with_text(&mut self, text: &str, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        let whole = words(text, "");
        if whole.is_empty() {
            return Ok(());
        }
        self.words = Some(whole);
        let any = self.run(Vec::new(), "DESC", 1, tx)?;
        if any.is_empty() {
            self.words = Some(words(text, "*"));
        }
        Ok(())
    }

    fn run(
        &self,
        page: Vec<Condition>,
        direction: &str,
        limit: usize,
        tx: &Transaction<'_>,
    ) -> rusqlite::Result<Vec<CallRecord>> {
        let conditions = self.conditions.iter().chain(&page);
        let mut filter = String::from("1");
        let mut values: Vec<Value> = Vec::new();
        for condition in conditions {
            filter.push_str(" AND ");
            filter.push_str(condition.sql);
            values.push(condition.value.clone());
        }
        let index = self
            .index
            .map(|index| format!("calls c INDEXED BY {index}"));
        let from_calls = index.unwrap_or_else(|| "calls c NOT INDEXED".to_owned());
        let (from, order) = match &self.words {
            None => (from_calls, "c.id"),
            Some(words) => {
                values.push(words.clone().into());
                if self.index.is_some() && self.rows <= LOOKED_UP {
                    filter.push_str(
                        " AND EXISTS (SELECT 1 FROM texts WHERE texts MATCH ? AND texts.rowid = c.id)",
                    );
                    (from_calls, "c.id")
                } else {
                    filter.push_str(" AND texts MATCH ?");
                    let joined = "texts CROSS JOIN calls c ON c.id = texts.rowid";
                    (joined.to_owned(), "texts.rowid")
                }
            }
        };
        let select = format!(
            "SELECT {COLUMNS} FROM {from} CROSS JOIN details d ON d.id = c.id WHERE {filter} \
             ORDER BY {order} {direction} LIMIT {limit}"
        );
        let mut select = tx.prepare_cached(&select)?;
        let rows = select.query_map(params_from_iter(values), |row| read(row, false))?;
        rows.collect()
    }
}

/// Returns the query of FTS5 for the words of a text, each followed by `end`. Empty if there is no word.
fn words(text: &str, end: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| format!("\"{word}\"{end}")).collect();
    words.join(" AND ")
}
