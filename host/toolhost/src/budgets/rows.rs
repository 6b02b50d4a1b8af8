//! Reads and writes rows of the table `budgets`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolhost_manifest::policy::{BudgetAmounts, BudgetPeriod, Policy};
use toolhost_store::Schema;
use toolhost_store::sql::{self, Transaction, named_params};

use super::account::{AccountKey, Claim, Entry, Exceeded, Slice, at, change};

/// The tables of budgets, as migration steps.
pub(super) const SCHEMA: Schema = Schema {
    owner: "budgets",
    steps: &[include_str!("budgets.sql")],
    postgres: &[include_str!("budgets.postgres.sql")],
    legacy_versions: &[],
};

/// How long rows are kept after the start of their window: a clock that is set back by less finds what was used.
const KEPT: Duration = Duration::from_secs(40 * 86_400);

/// Rows removed in one transaction.
const BATCH: u32 = 500;

/// Most that a row counts, so that no sum overflows.
const USED_MAX: u64 = 1 << 62;

/// Takes a slice for each claim, or for none.
pub(super) fn take(
    tx: &Transaction<'_>,
    claims: &[Claim],
) -> sql::Result<Result<Vec<Slice>, Box<Exceeded>>> {
    let mut slices = Vec::new();
    for claim in claims {
        let mut used = used(tx, &claim.key)?;
        let mut given = BudgetAmounts::default();
        for (kind, info, limit) in claim.budget.limits() {
            let (sum, needed) = (at(&used, kind), at(&claim.needed, kind));
            let left = limit.saturating_sub(sum);
            let is_within = if info.is_reserved() {
                needed <= left
            } else {
                left > 0
            };
            if !is_within {
                return Ok(Err(Box::new(claim.exceeded(kind, sum))));
            }
            let share = claim.share_of(kind, left);
            change(&mut given, kind, |_| share);
            change(&mut used, kind, |sum| sum.saturating_add(share));
        }
        slices.push(Slice {
            key: claim.key.clone(),
            used,
            given,
        });
    }
    for slice in &slices {
        add(tx, &slice.key, &slice.given)?;
    }
    Ok(Ok(slices))
}

/// Writes entries, and returns what is used now of each.
pub(super) fn write(
    tx: &Transaction<'_>,
    entries: &[Entry],
) -> sql::Result<Vec<(AccountKey, BudgetAmounts)>> {
    let mut sums = Vec::new();
    for entry in entries {
        add(tx, &entry.key, &entry.add)?;
        for (kind, info) in Policy::budget_kinds().iter().enumerate() {
            let amount = at(&entry.give_back, kind);
            if amount > 0 {
                give_back(tx, &entry.key, info.name, amount)?;
            }
        }
        sums.push((entry.key.clone(), used(tx, &entry.key)?));
    }
    Ok(sums)
}

fn used(tx: &Transaction<'_>, key: &AccountKey) -> sql::Result<BudgetAmounts> {
    let mut used = BudgetAmounts::default();
    tx.for_each(
        "SELECT kind, used FROM budgets
         WHERE bundle = :bundle AND period = :period AND starts_ms = :starts_ms
             AND agent = :agent AND tool = :tool AND instance = :instance",
        named_params! {
            ":bundle": &*key.bundle,
            ":period": key.period.as_str(),
            ":starts_ms": signed(key.starts_ms),
            ":agent": key.agent,
            ":tool": key.tool,
            ":instance": key.instance,
        },
        |row| {
            let kind: String = row.get(0)?;
            let amount: i64 = row.get(1)?;
            set(&mut used, &kind, amount);
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(used)
}

/// An account of a window, and what is used of it.
pub(super) type Used = (AccountKey, BudgetAmounts);

/// Returns the accounts of a bundle in the windows of `now`.
pub(super) fn current(
    tx: &Transaction<'_>,
    bundle: &Arc<str>,
    now: SystemTime,
) -> sql::Result<Vec<Used>> {
    let mut accounts: Vec<Used> = Vec::new();
    for period in BudgetPeriod::ALL {
        let starts_ms = period.starts_ms(now);
        tx.for_each(
            "SELECT agent, tool, instance, kind, used FROM budgets
             WHERE bundle = ?1 AND period = ?2 AND starts_ms = ?3
             ORDER BY agent, tool, instance",
            (&**bundle, period.as_str(), signed(starts_ms)),
            |row| {
                let key = AccountKey {
                    bundle: Arc::clone(bundle),
                    agent: row.get(0)?,
                    tool: row.get(1)?,
                    instance: row.get(2)?,
                    period,
                    starts_ms,
                };
                let (kind, amount): (String, i64) = (row.get(3)?, row.get(4)?);
                if accounts.last().is_none_or(|(last, _)| *last != key) {
                    accounts.push((key, BudgetAmounts::default()));
                }
                if let Some((_, used)) = accounts.last_mut() {
                    set(used, &kind, amount);
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
    }
    Ok(accounts)
}

/// Sets the amount of a kind; that of a later toolhost is left out.
fn set(used: &mut BudgetAmounts, kind: &str, amount: i64) {
    let mut kinds = Policy::budget_kinds().iter();
    if let Some(kind) = kinds.position(|info| info.name == kind) {
        change(used, kind, |_| amount.unsigned_abs());
    }
}

fn add(tx: &Transaction<'_>, key: &AccountKey, amounts: &BudgetAmounts) -> sql::Result<()> {
    for (kind, info) in Policy::budget_kinds().iter().enumerate() {
        let amount = at(amounts, kind).min(USED_MAX >> 1);
        if amount == 0 {
            continue;
        }
        tx.execute("INSERT INTO budgets VALUES
                 (:bundle, :agent, :tool, :instance, :period, :starts_ms, :kind, :amount)
             ON CONFLICT (bundle, period, starts_ms, agent, tool, instance, kind) DO UPDATE SET used =
                 CASE WHEN budgets.used + excluded.used < :most THEN budgets.used + excluded.used ELSE :most END", named_params! {
            ":bundle": &*key.bundle,
            ":agent": key.agent,
            ":tool": key.tool,
            ":instance": key.instance,
            ":period": key.period.as_str(),
            ":starts_ms": signed(key.starts_ms),
            ":kind": info.name,
            ":amount": signed(amount),
            ":most": signed(USED_MAX),
        })?;
    }
    Ok(())
}

fn give_back(tx: &Transaction<'_>, key: &AccountKey, kind: &str, amount: u64) -> sql::Result<()> {
    tx.execute(
        "UPDATE budgets SET used = CASE WHEN used > :amount THEN used - :amount ELSE 0 END
         WHERE bundle = :bundle AND period = :period AND starts_ms = :starts_ms
             AND agent = :agent AND tool = :tool AND instance = :instance AND kind = :kind",
        named_params! {
            ":amount": signed(amount),
            ":bundle": &*key.bundle,
            ":period": key.period.as_str(),
            ":starts_ms": signed(key.starts_ms),
            ":agent": key.agent,
            ":tool": key.tool,
            ":instance": key.instance,
            ":kind": kind,
        },
    )?;
    Ok(())
}

/// Removes some rows of windows that began long ago.
pub(super) fn sweep(tx: &Transaction<'_>, now: SystemTime) -> sql::Result<()> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let before = i64::try_from(since.saturating_sub(KEPT).as_millis()).unwrap_or(0);
    tx.execute(
        "DELETE FROM budgets WHERE (bundle, period, starts_ms, agent, tool, instance, kind) IN (
             SELECT bundle, period, starts_ms, agent, tool, instance, kind FROM budgets
             WHERE starts_ms < ?1 LIMIT ?2
         )",
        (before, BATCH),
    )?;
    Ok(())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
