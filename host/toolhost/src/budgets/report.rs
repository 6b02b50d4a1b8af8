//! What is used of the budgets of a policy.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolhost_contract::Timestamp;
use toolhost_manifest::policy::{Budget, BudgetAmounts, BudgetInfo};
use toolhost_runtime::lock;
use toolhost_store::{Store, StoreError};

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
        match self.kind.scale() {
            1 => json!(amount),
            scale => {
                let (whole, part) = (amount / scale, amount % scale);
                // A sum of a year of milliseconds is exact as a float.
                let whole = u32::try_from(whole).map_or(f64::from(u32::MAX), f64::from);
                let part = u32::try_from(part).map_or(0.0, f64::from);
                let scale = u32::try_from(scale).map_or(1.0, f64::from);
                json!(whole + part / scale)
            }
        }
    }

    /// Returns how long it is until the next window begins, such as "3 hours and 5 minutes".
    pub fn resets_in(&self, now: SystemTime) -> String {
        refusal::in_words(self.resets_at.duration_since(now).unwrap_or_default())
    }
}

/// Returns the stored use of budgets by the calls of a bundle in the windows of `now`.
pub(crate) fn stored_uses(
    budgets: Vec<Budget>,
    state_root: &Path,
    bundle: &str,
    now: SystemTime,
) -> Result<Vec<BudgetUse>, BudgetsError> {
    let used = Store::read_file(state_root, &rows::SCHEMA, |tx| {
        rows::current(tx, bundle, now)
    })?;
    Ok(uses_of(budgets, used.unwrap_or_default(), now))
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
        let mut used = self.used(caller.bundle.to_string(), now).await?;
        let of_key = format!("={}", caller.instance);
        used.retain(|(key, _)| key.instance.is_empty() || key.instance == of_key);
        for budget in budgets.iter().filter(|budget| budget.each_instance) {
            let key = AccountKey::of(budget, &caller.bundle, &caller.instance, now);
            if used.iter().all(|(other, _)| *other != key) {
                used.push((key, BudgetAmounts::default()));
            }
        }
        Ok(uses_of(budgets, used, now))
    }

    async fn used(&self, bundle: String, now: SystemTime) -> Result<Vec<rows::Used>, StoreError> {
        self.write(Keeps::Active).await;
        let read = self
            .store()
            .await?
            .read(move |tx| rows::current(tx, &bundle, now));
        let mut used = read.await?;
        let known = lock(&self.known);
        for (key, amounts) in &mut used {
            for (sum, slice) in amounts.iter_mut().zip(known.accounts.slice(key)) {
                *sum = sum.saturating_sub(slice);
            }
        }
        Ok(used)
    }
}

/// Returns the limits of budgets with what is used of each: of one that each instance has, for the instances that made
/// calls.
fn uses_of(budgets: Vec<Budget>, used: Vec<rows::Used>, now: SystemTime) -> Vec<BudgetUse> {
    let used: BTreeMap<_, _> = used
        .into_iter()
        .map(|(key, used)| ((key.agent, key.tool, key.period, key.instance), used))
        .collect();
    let mut uses = Vec::new();
    for budget in budgets {
        let name = |name: &Option<toolhost_contract::ResourceName>| {
            name.as_ref().map(ToString::to_string).unwrap_or_default()
        };
        let (agent, tool) = (name(&budget.agent), name(&budget.tool));
        let is_of = |(of_agent, of_tool, period, instance): &&(String, String, _, String)| {
            (of_agent, of_tool, *period) == (&agent, &tool, budget.period)
                && instance.is_empty() != budget.each_instance
        };
        let mut of: Vec<(Option<String>, BudgetAmounts)> = used
            .iter()
            .filter(|(key, _)| is_of(key))
            .map(|(key, used)| (key.3.strip_prefix('=').map(str::to_owned), *used))
            .collect();
        if of.is_empty() {
            of.push((None, BudgetAmounts::default()));
        }
        let ends = budget.period.ends_ms(budget.period.starts_ms(now));
        for (instance, used) in of {
            uses.extend(budget.limits().map(|(kind, info, limit)| BudgetUse {
                budget: budget.clone(),
                kind: info,
                instance: instance.clone(),
                limit,
                used: at(&used, kind),
                resets_at: UNIX_EPOCH + Duration::from_millis(ends),
            }));
        }
    }
    uses
}
