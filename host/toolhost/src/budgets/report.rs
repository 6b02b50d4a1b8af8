//! What is used of the budgets of a policy.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolhost_contract::Timestamp;
use toolhost_manifest::policy::{Budget, BudgetAmounts, BudgetInfo};
use toolhost_runtime::lock;
use toolhost_store::{Database, Store, StoreError};

use super::account::{AccountKey, Keeps, at};
use super::ledger::{Budgets, Caller};
use super::{refusal, rows};

/// Why the use of budgets cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the use of budgets cannot be read")]
pub struct BudgetsError(#[from] StoreError);

/// A limit of a budget, and what is used of it in the window that runs now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BudgetUse {
    /// Whose calls are counted.
    pub budget: Budget,
    /// What is limited.
    pub kind: &'static BudgetInfo,
    /// The key of the instance, of a budget that each has.
    pub instance: Option<String>,
    /// The limit, in counted units: milliseconds for `wallSeconds`.
    pub limit: u64,
    /// What is used, in these units.
    pub used: u64,
    /// When the next window begins.
    pub resets_at: SystemTime,
}

impl BudgetUse {
    /// Returns the JSON of `toolhost budgets --json`.
    pub fn to_value(&self) -> Value {
        json!({
            "agent": self.budget.agent.as_ref().map(ToString::to_string),
            "tool": self.budget.tool.as_ref().map(ToString::to_string),
            "instance": self.instance,
            "eachInstance": self.budget.each_instance,
            "period": self.budget.period.as_str(),
            "kind": self.kind.name,
            "limit": self.in_units(self.limit),
            "used": self.in_units(self.used),
            "isUsedUp": self.used >= self.limit,
            "resetsAt": Timestamp(self.resets_at).to_string(),
        })
    }

    /// Returns an amount in the unit of the policy.
    fn in_units(&self, amount: u64) -> Value {
        if self.kind.scale() == 1 {
            return json!(amount);
        }
        json!(Duration::from_millis(amount).as_secs_f64())
    }

    /// Returns how long it is until the next window begins, such as "3 hours and 5 minutes".
    pub fn resets_in(&self, now: SystemTime) -> String {
        refusal::in_words(self.resets_at.duration_since(now).unwrap_or_default())
    }
}

/// Returns the stored use of budgets by the calls of a bundle in the windows of `now`.
pub(crate) fn stored_uses(
    budgets: Vec<Budget>,
    database: &Database,
    bundle: &str,
    now: SystemTime,
) -> Result<Vec<BudgetUse>, BudgetsError> {
    let bundle: Arc<str> = bundle.into();
    let of = Arc::clone(&bundle);
    let used = Store::read_from(database, &rows::SCHEMA, move |tx| {
        rows::current(tx, &of, now)
    })?;
    Ok(uses_of(budgets, &bundle, &used.unwrap_or_default(), now))
}

impl Budgets {
    /// Returns the limits of budgets of an instance, and what is used of each.
    pub(crate) async fn uses(
        &self,
        budgets: Vec<Budget>,
        caller: &Caller,
    ) -> Result<Vec<BudgetUse>, BudgetsError> {
        if budgets.is_empty() {
            return Ok(Vec::new());
        }
        let now = (self.clock)();
        self.write(Keeps::Active).await;
        let bundle = Arc::clone(&caller.bundle);
        let store = self.store().await?;
        let read = store.read(move |tx| rows::current(tx, &bundle, now));
        let mut used = read.await?;
        let of_key = format!("={}", caller.instance);
        used.retain(|(key, _)| key.instance.is_empty() || key.instance == of_key);
        {
            let known = lock(&self.known);
            for (key, amounts) in &mut used {
                for (sum, slice) in amounts.iter_mut().zip(known.accounts.slice(key)) {
                    *sum = sum.saturating_sub(slice);
                }
            }
        }
        for budget in budgets.iter().filter(|budget| budget.each_instance) {
            let key = AccountKey::of(budget, &caller.bundle, &caller.instance, now);
            if used.iter().all(|(other, _)| *other != key) {
                used.push((key, BudgetAmounts::default()));
            }
        }
        Ok(uses_of(budgets, &caller.bundle, &used, now))
    }
}

/// Returns the limits of budgets with what is used of each: of one that each instance has, for the instances that made
/// calls.
fn uses_of(
    budgets: Vec<Budget>,
    bundle: &Arc<str>,
    used: &[rows::Used],
    now: SystemTime,
) -> Vec<BudgetUse> {
    let mut uses = Vec::new();
    for budget in budgets {
        let account = AccountKey::of(&budget, bundle, "", now);
        let of_budget = used.iter().filter(|(key, _)| key.is_alike(&account));
        let mut amounts: Vec<(Option<String>, BudgetAmounts)> = of_budget
            .map(|(key, used)| (key.instance.strip_prefix('=').map(str::to_owned), *used))
            .collect();
        if amounts.is_empty() {
            amounts.push((None, BudgetAmounts::default()));
        }
        let resets_at = UNIX_EPOCH + Duration::from_millis(account.ends_ms());
        for (instance, used) in amounts {
            uses.extend(budget.limits().map(|(kind, info, limit)| BudgetUse {
                budget: budget.clone(),
                kind: info,
                instance: instance.clone(),
                limit,
                used: at(&used, kind),
                resets_at,
            }));
        }
    }
    uses
}
