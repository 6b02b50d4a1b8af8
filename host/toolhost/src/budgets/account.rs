//! What a process knows of the budgets that its calls count for.
//!
//! The store has what is used of each. A process takes a slice of what is left for its next calls, so that few of them
//! wait for the store; the slice counts as used until it is given back. What calls have used when they end is written
//! later, for several calls at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use toolhost_contract::ResourceName;
use toolhost_manifest::policy::{BUDGET_KINDS, Budget, BudgetAmounts, BudgetPeriod};

/// The calls that are counted together, in one window.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AccountKey {
    pub(super) bundle: Arc<str>,
    pub(super) agent: String,
    pub(super) tool: String,
    /// Empty: of all instances. Otherwise `=` and the key.
    pub(super) instance: String,
    pub(super) period: BudgetPeriod,
    pub(super) starts_ms: u64,
}

impl AccountKey {
    /// Returns the account of a budget, for the calls of an instance.
    pub(super) fn of(budget: &Budget, bundle: &Arc<str>, instance: &str, now: SystemTime) -> Self {
        let name = |name: &Option<ResourceName>| {
            name.as_ref().map(ToString::to_string).unwrap_or_default()
        };
        let instance = budget.each_instance.then(|| format!("={instance}"));
        Self {
            bundle: Arc::clone(bundle),
            agent: name(&budget.agent),
            tool: name(&budget.tool),
            instance: instance.unwrap_or_default(),
            period: budget.period,
            starts_ms: budget.period.starts_ms(now),
        }
    }

    /// Whether both are of one budget and window, for whichever instances.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.period, it.starts_ms, it.instance.is_empty());
        (of(self), &self.bundle, &self.agent, &self.tool)
            == (of(other), &other.bundle, &other.agent, &other.tool)
    }

    pub(super) fn ends_ms(&self) -> u64 {
        self.period.ends_ms(self.starts_ms)
    }
}

/// One budget of a call that is about to run.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) key: AccountKey,
    pub(super) budget: Budget,
    /// What is counted before it runs.
    pub(super) needed: BudgetAmounts,
    /// How many calls the process takes at once.
    pub(super) calls: u64,
}

/// A budget that a call would exceed.
#[derive(Debug, Clone)]
pub(super) struct Exceeded {
    pub(super) budget: Budget,
    /// Which of its limits.
    pub(super) kind: usize,
    pub(super) used: u64,
    pub(super) needed: u64,
    pub(super) ends_ms: u64,
}

/// What the store gave for one claim.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) key: AccountKey,
    /// What is used, with what is given here.
    pub(super) used: BudgetAmounts,
    pub(super) given: BudgetAmounts,
}

/// A change of an account in the store.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: AccountKey,
    /// What calls have used.
    pub(super) add: BudgetAmounts,
    /// What no call has used of the slice.
    pub(super) give_back: BudgetAmounts,
}

#[derive(Debug, Default)]
struct Account {
    /// What was used when the store was last asked. None: it has not been asked.
    used: Option<BudgetAmounts>,
    slice: BudgetAmounts,
    /// What is not in the store yet.
    unwritten: BudgetAmounts,
    /// How many calls the next slice is for.
    calls: u64,
    /// Whether a call began or ended since the last write.
    is_active: bool,
}

/// Which slices a process keeps when it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    /// Those of accounts with calls since the last time.
    Active,
    /// None.
    Nothing,
}

/// How a claim of all budgets of a call ended.
#[derive(Debug)]
pub(super) enum Taken {
    /// The call may run.
    All,
    /// The store has to be asked.
    Unknown,
    Exceeded(Box<Exceeded>),
}

/// The accounts of a process.
#[derive(Debug, Default)]
pub(super) struct Accounts(HashMap<AccountKey, Account>);

impl Accounts {
    /// Takes what a call needs of each of its budgets, or nothing. Sets how many calls to ask the store for.
    pub(super) fn take(&mut self, claims: &mut [Claim]) -> Taken {
        let mut is_known = true;
        for claim in &mut *claims {
            let Some(account) = self.0.get(&claim.key) else {
                is_known = false;
                continue;
            };
            claim.calls = account.calls;
            let Some(used) = account.used else {
                is_known = false;
                continue;
            };
            for (kind, info, limit) in claim.budget.limits() {
                let (needed, slice) = (at(&claim.needed, kind), at(&account.slice, kind));
                if info.is_reserved() {
                    // A slice may be of a policy with a higher limit.
                    let made = at(&used, kind).saturating_sub(slice);
                    is_known &= needed <= slice && made.saturating_add(needed) <= limit;
                    continue;
                }
                let used = at(&used, kind).saturating_add(at(&account.unwritten, kind));
                if used >= limit {
                    return Taken::Exceeded(Box::new(claim.exceeded(kind, used)));
                }
            }
        }
        if !is_known {
            return Taken::Unknown;
        }
        for claim in claims {
            if let Some(account) = self.0.get_mut(&claim.key) {
                account.is_active = true;
                for (kind, info, _) in claim.budget.limits() {
                    if info.is_reserved() {
                        change(&mut account.slice, kind, |slice| {
                            slice.saturating_sub(at(&claim.needed, kind))
                        });
                    }
                }
            }
        }
        Taken::All
    }

    /// Adds what the store gave.
    pub(super) fn give(&mut self, slices: Vec<Slice>) {
        for slice in slices {
            let account = self.0.entry(slice.key).or_default();
            account.used = Some(slice.used);
            account.calls = account.calls.max(1).saturating_mul(2).min(CALLS_MAX);
            account.is_active = true;
            for kind in 0..BUDGET_KINDS {
                change(&mut account.slice, kind, |own| {
                    own.saturating_add(at(&slice.given, kind))
                });
            }
        }
    }

    /// Adds what a call has used.
    pub(super) fn add(&mut self, key: AccountKey, used: &BudgetAmounts) {
        let account = self.0.entry(key).or_default();
        account.is_active = true;
        for kind in 0..BUDGET_KINDS {
            change(&mut account.unwritten, kind, |sum| {
                sum.saturating_add(at(used, kind))
            });
        }
    }

    /// Returns what is to be written: what calls have used, and the slices of accounts that are not kept, which are
    /// forgotten.
    pub(super) fn entries(&mut self, keeps: Keeps) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.0.retain(|key, account| {
            let is_active = std::mem::take(&mut account.is_active);
            let is_kept = is_active && keeps == Keeps::Active;
            let mut entry = Entry {
                key: key.clone(),
                add: std::mem::take(&mut account.unwritten),
                give_back: BudgetAmounts::default(),
            };
            if !is_kept {
                entry.give_back = account.slice;
            }
            if is_kept || entry.is_any() {
                entries.push(entry);
            }
            is_kept
        });
        entries
    }

    /// Takes entries back that could not be written.
    pub(super) fn take_back(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            let account = self.0.entry(entry.key).or_default();
            account.is_active = true;
            for kind in 0..BUDGET_KINDS {
                change(&mut account.unwritten, kind, |sum| {
                    sum.saturating_add(at(&entry.add, kind))
                });
                change(&mut account.slice, kind, |own| {
                    own.saturating_add(at(&entry.give_back, kind))
                });
            }
        }
    }

    /// Sets what is used, as the store has it now.
    pub(super) fn set_used(&mut self, used: Vec<(AccountKey, BudgetAmounts)>) {
        for (key, used) in used {
            if let Some(account) = self.0.get_mut(&key).filter(|it| it.used.is_some()) {
                account.used = Some(used);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what no call of this process has used of an account's slice.
    pub(super) fn slice(&self, key: &AccountKey) -> BudgetAmounts {
        self.0
            .get(key)
            .map(|account| account.slice)
            .unwrap_or_default()
    }
}

/// Most calls that a process takes a slice for.
const CALLS_MAX: u64 = 1024;

impl Claim {
    pub(super) fn exceeded(&self, kind: usize, used: u64) -> Exceeded {
        Exceeded {
            budget: self.budget.clone(),
            kind,
            used,
            needed: at(&self.needed, kind),
            ends_ms: self.key.ends_ms(),
        }
    }

    /// Returns what the store gives of a limit that has `left`: at most a 64th of it for calls to come, so that a process
    /// that is killed loses little.
    pub(super) fn share_of(&self, kind: usize, left: u64) -> u64 {
        let needed = at(&self.needed, kind);
        let wanted = needed.saturating_mul(self.calls.max(1));
        wanted.min(left / 64).max(needed)
    }
}

impl Entry {
    pub(super) fn is_any(&self) -> bool {
        self.add
            .iter()
            .chain(&self.give_back)
            .any(|amount| *amount > 0)
    }
}

pub(super) fn at(amounts: &BudgetAmounts, kind: usize) -> u64 {
    amounts.get(kind).copied().unwrap_or_default()
}

pub(super) fn change(amounts: &mut BudgetAmounts, kind: usize, change: impl FnOnce(u64) -> u64) {
    if let Some(amount) = amounts.get_mut(kind) {
        *amount = change(*amount);
    }
}
