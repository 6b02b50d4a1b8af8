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
    /// Words that begin words of the tool's name, the error, the arguments or the output, each of them.
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
        let id = |sql, id: Option<u64>| {
            let id = i64::try_from(id?).unwrap_or(i64::MAX);
            Some(condition(sql, None, id))
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
        let time = |sql, time: Option<SystemTime>| Some(condition(sql, None, millis(time?)));
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
            time("c.time < ?", self.until),
            id("c.id < ?", self.before),
            id("c.id > ?", self.after),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn page(&self, tx: &Transaction<'_>) -> rusqlite::Result<CallPage> {
        tx.pragma_update(None, "cache_size", -CACHE_KIB)?;
        let conditions = self.conditions();
        let mut parts: Vec<String> = conditions.iter().map(|it| it.sql.to_owned()).collect();
        let mut values: Vec<Value> = conditions.iter().map(|it| it.value.clone()).collect();
        let words = self.text.as_deref().map(words);
        let from = match words {
            Some(words) if words.is_empty() => "calls c NOT INDEXED".to_owned(),
            Some(words) => {
                parts.push("texts MATCH ?".to_owned());
                values.push(words.into());
                "texts CROSS JOIN calls c ON c.id = texts.rowid".to_owned()
            }
            None => match best_index(&conditions, tx)? {
                Some(index) => format!("calls c INDEXED BY {index}"),
                None => "calls c NOT INDEXED".to_owned(),
            },
        };
        let is_of_text = from.starts_with("texts");
        let order = if is_of_text { "texts.rowid" } else { "c.id" };
        let direction = if self.after.is_some() { "ASC" } else { "DESC" };
        let filter = if parts.is_empty() {
            "1".to_owned()
        } else {
            parts.join(" AND ")
        };
        let limit = match self.limit {
            0 => 100,
            limit => limit.min(LIMIT_MAX),
        };
        let select = format!(
            "SELECT {COLUMNS} FROM {from} CROSS JOIN details d ON d.id = c.id WHERE {filter} \
             ORDER BY {order} {direction} LIMIT {limit}"
        );
        let mut select = tx.prepare_cached(&select)?;
        let rows = select.query_map(params_from_iter(values), |row| read(row, false))?;
        let calls: Vec<CallRecord> = rows.collect::<rusqlite::Result<_>>()?;
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

/// Returns the index with the fewest rows, if these are few enough to be looked up one by one.
fn best_index(
    conditions: &[Condition],
    tx: &Transaction<'_>,
) -> rusqlite::Result<Option<&'static str>> {
    let mut best = (INDEXED_ROWS, None);
    for condition in conditions {
        let Some(index) = condition.index else {
            continue;
        };
        let count = format!(
            "SELECT count(*) FROM (SELECT 1 FROM calls c INDEXED BY {index} WHERE {} LIMIT {INDEXED_ROWS})",
            condition.sql
        );
        let mut count = tx.prepare_cached(&count)?;
        let rows: i64 = count.query_row([&condition.value], |row| row.get(0))?;
        if rows < best.0 {
            best = (rows, Some(index));
        }
    }
    Ok(best.1)
}

/// Returns the query of FTS5 for a text: each word begins a word. A text without words is no condition.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| format!("\"{word}\"*")).collect();
    words.join(" AND ")
}
