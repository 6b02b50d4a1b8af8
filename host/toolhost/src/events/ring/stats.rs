//! Counts the calls of a time, for charts.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use toolhost_contract::{Timestamp, Usage};
use toolhost_store::rusqlite::{self, Transaction};

use super::record::CallKind;

/// Most calls whose times are read: each of them costs a microsecond or two.
const SAMPLE: i64 = 20_000;

/// About as many buckets a time is cut into.
const BUCKETS: i64 = 60;

/// Lengths of a bucket, in milliseconds: from a second to a day.
const LENGTHS: [i64; 13] = [
    1_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000,
    10_800_000, 21_600_000, 86_400_000,
];

/// Calls of a time. Polls, and the ends of calls that were pending, are not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallStats {
    /// How many there are.
    pub calls: u64,
    /// How many of them percentiles, memory, codes and tools are of: all, or one of each so many, evenly.
    pub sampled: u64,
    /// Milliseconds of a bucket.
    pub bucket_ms: u64,
    /// The buckets with calls, the oldest first.
    pub buckets: Vec<TimeStats>,
    /// Codes of errors, the most frequent first: also of calls that were pending and ended in this time.
    pub codes: Vec<CodeStats>,
    /// Tools, the most frequent first: at most 100.
    pub tools: Vec<ToolStats>,
}

/// The calls that began in a bucket: a part of the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TimeStats {
    /// Its begin.
    pub time: Timestamp,
    /// Number of calls.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// Milliseconds within which half of the calls ended.
    pub p50: f64,
    /// Milliseconds within which 95 of 100 ended.
    pub p95: f64,
    /// Milliseconds within which 99 of 100 ended.
    pub p99: f64,
    /// Milliseconds for which at most 5 of 100 waited longer for a call slot.
    #[serde(rename = "queuedP95")]
    pub queued_p95: f64,
    /// Bytes of memory of the largest call.
    pub memory_max: u64,
}

/// The calls that failed with a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CodeStats {
    /// The code.
    pub code: String,
    /// Number of calls.
    pub count: u64,
}

/// The calls of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolStats {
    /// Its name.
    pub tool: String,
    /// Number of calls.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// Milliseconds within which half of the calls ended.
    pub p50: f64,
    /// Milliseconds within which 95 of 100 ended.
    pub p95: f64,
}

/// What was read of some calls.
#[derive(Default)]
struct Times {
    calls: u64,
    errors: u64,
    took: Vec<f64>,
    queued: Vec<f64>,
    memory_max: u64,
}

impl Times {
    fn add(&mut self, took: f64, has_failed: bool) {
        self.calls += 1;
        self.errors += u64::from(has_failed);
        self.took.push(took);
    }
}

/// Counts the calls that began in a time, in milliseconds since 1970.
pub(super) fn of(tx: &Transaction<'_>, since: i64, until: i64) -> rusqlite::Result<CallStats> {
    let kind = CallKind::Call as i64;
    let first = "SELECT min(time), count(*) FROM calls INDEXED BY calls_time WHERE time >= ?1 AND time < ?2 AND kind = ?3";
    let (first, calls) = tx.query_row(first, (since, until, kind), |row| {
        Ok((
            row.get::<_, Option<i64>>(0)?.unwrap_or(until),
            row.get::<_, i64>(1)?,
        ))
    })?;
    // A time that begins long before the first call has no empty buckets.
    let least = until.saturating_sub(first.max(since)) / BUCKETS;
    let length = LENGTHS.iter().find(|length| **length >= least);
    let length = length.copied().unwrap_or(86_400_000);
    let mut buckets: Vec<TimeStats> = Vec::new();
    let mut select = tx.prepare_cached(
        "SELECT time / ?4, count(*), sum(status = 1) FROM calls INDEXED BY calls_time \
         WHERE time >= ?1 AND time < ?2 AND kind = ?3 GROUP BY 1 ORDER BY 1",
    )?;
    let mut rows = select.query((since, until, kind, length))?;
    while let Some(row) = rows.next()? {
        buckets.push(TimeStats {
            time: Timestamp(UNIX_EPOCH + millis(row.get::<_, i64>(0)?.saturating_mul(length))),
            calls: count(row.get(1)?),
            errors: count(row.get(2)?),
            p50: 0.0,
            p95: 0.0,
            p99: 0.0,
            queued_p95: 0.0,
            memory_max: 0,
        });
    }
    let each = (calls + SAMPLE - 1) / SAMPLE;
    let (mut of_buckets, mut of_tools) = (
        HashMap::<i64, Times>::new(),
        HashMap::<String, Times>::new(),
    );
    let mut codes = HashMap::<String, u64>::new();
    // Many calls are read in the order in which they lie.
    let index = if each > 1 {
        "NOT INDEXED"
    } else {
        "INDEXED BY calls_time"
    };
    let mut select = tx.prepare_cached(&format!(
        "SELECT c.time / ?4 AS bucket, c.status, d.duration, d.tool, d.code, d.usage FROM calls c {index} \
         CROSS JOIN details d USING (id) WHERE c.time >= ?1 AND c.time < ?2 AND c.kind = ?3 AND c.id % ?5 = 0"
    ))?;
    let mut rows = select.query((since, until, kind, length, each.max(1)))?;
    let mut sampled = 0;
    while let Some(row) = rows.next()? {
        sampled += 1;
        let has_failed = row.get::<_, i64>("status")? == 1;
        let took = row.get::<_, Option<f64>>("duration")?.unwrap_or_default();
        let usage = serde_json::from_str(&row.get::<_, String>("usage")?).ok();
        let usage = usage
            .as_ref()
            .and_then(Usage::from_stored)
            .unwrap_or_default();
        let times = of_buckets.entry(row.get("bucket")?).or_default();
        times.add(took, has_failed);
        times.queued.push(usage.queued.as_secs_f64() * 1e3);
        times.memory_max = times.memory_max.max(usage.memory_peak);
        of_tools
            .entry(row.get("tool")?)
            .or_default()
            .add(took, has_failed);
        if let Some(code) = row.get("code")? {
            *codes.entry(code).or_default() += 1;
        }
    }
    let mut select = tx.prepare_cached(
        "SELECT d.code, count(*) FROM calls c INDEXED BY calls_time CROSS JOIN details d USING (id)
         WHERE c.time >= ?1 AND c.time < ?2 AND c.kind = ?3 AND c.status = 1 AND d.code IS NOT NULL GROUP BY 1",
    )?;
    let mut rows = select.query((since, until, CallKind::Settled as i64))?;
    while let Some(row) = rows.next()? {
        *codes.entry(row.get(0)?).or_default() += count(row.get(1)?);
    }
    for stats in &mut buckets {
        let number = super::row::millis(stats.time.0) / length;
        if let Some(mut times) = of_buckets.remove(&number) {
            let took = &mut times.took;
            (stats.p50, stats.p95, stats.p99) = (
                percentile(took, 50),
                percentile(took, 95),
                percentile(took, 99),
            );
            stats.queued_p95 = percentile(&mut times.queued, 95);
            stats.memory_max = times.memory_max;
        }
    }
    let mut codes: Vec<_> = codes
        .into_iter()
        .map(|(code, count)| CodeStats { code, count })
        .collect();
    codes.sort_by(|a, b| (b.count, &a.code).cmp(&(a.count, &b.code)));
    let mut tools: Vec<_> = of_tools.into_iter().collect();
    tools.sort_by(|(a, at), (b, bt)| (bt.calls, a).cmp(&(at.calls, b)));
    tools.truncate(100);
    let tools = tools.into_iter().map(|(tool, mut times)| ToolStats {
        tool,
        calls: times.calls,
        errors: times.errors,
        p50: percentile(&mut times.took, 50),
        p95: percentile(&mut times.took, 95),
    });
    Ok(CallStats {
        calls: count(calls),
        sampled,
        bucket_ms: count(length),
        buckets,
        codes,
        tools: tools.collect(),
    })
}

/// Returns the value that `percent` of 100 do not exceed. Sorts the values.
fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() * percent).div_ceil(100).saturating_sub(1);
    values.get(at).copied().unwrap_or_default()
}

fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

fn millis(millis: i64) -> Duration {
    Duration::from_millis(count(millis))
}
