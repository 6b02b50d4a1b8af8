//! The budgets of a host.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::OnceCell;
use toolhost_contract::{Locale, ToolError, ToolErrorCode, ToolName, Usage};
use toolhost_manifest::policy::{Budget, BudgetAmounts, ToolBudgets, used};
use toolhost_runtime::{Threads, lock};
use toolhost_store::{Database, Store, StoreError};

use super::account::{AccountKey, Accounts, Claim, Exceeded, Keeps, Slice, Taken};
use super::spent::InnerSpent;
use super::{refusal, rows};
use crate::state_store;

/// How long what calls have used waits for that of others, and how long a process keeps a slice without calls.
const WRITE_AFTER: Duration = Duration::from_millis(50);

/// How long what could not be written waits.
const WRITE_AGAIN: Duration = Duration::from_secs(5);

/// The budgets of a host. Hosts with other policies share it.
pub(crate) struct Budgets {
    threads: Threads,
    database: Option<Database>,
    store: OnceCell<Store>,
    pub(super) known: Mutex<Known>,
    pub(super) clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
}

#[derive(Default)]
pub(super) struct Known {
    pub(super) accounts: Accounts,
    last_write: Option<Instant>,
    /// Whether a task writes.
    has_writer: bool,
}

/// Whose calls are counted.
#[derive(Clone)]
pub(crate) struct Caller {
    /// The identity of the bundle.
    pub(crate) bundle: Arc<str>,
    /// The key of the instance.
    pub(crate) instance: Arc<str>,
}

/// A call that was counted. It counts also if it is dropped: then with the time that it ran.
pub(crate) struct CountedCall {
    budgets: Arc<Budgets>,
    of: Arc<ToolBudgets>,
    caller: Caller,
    began: Instant,
    inner: Arc<InnerSpent>,
    has_ended: bool,
}

impl Budgets {
    pub(crate) fn new(threads: Threads, database: Option<Database>) -> Self {
        Self {
            threads,
            database,
            store: OnceCell::new(),
            known: Mutex::default(),
            clock: Box::new(SystemTime::now),
        }
    }

    /// Counts a call that is about to run.
    ///
    /// # Errors
    /// `E_TOOL_BUDGET` if it would exceed a budget; then nothing is counted. `E_HOST` if the store fails.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        of: &Arc<ToolBudgets>,
        caller: Caller,
        tool: &ToolName,
        locale: Locale,
    ) -> Result<CountedCall, ToolError> {
        let needed = of.reserved();
        loop {
            let now = (self.clock)();
            let claim = |budget: &Budget| Claim {
                key: AccountKey::of(budget, &caller.bundle, &caller.instance, now),
                budget: budget.clone(),
                needed,
                calls: 0,
            };
            let mut claims: Vec<Claim> = of.budgets.iter().map(claim).collect();
            let taken = lock(&self.known).accounts.take(&mut claims);
            let exceeded = match taken {
                Taken::All => {
                    self.start_writer();
                    return Ok(CountedCall {
                        budgets: Arc::clone(self),
                        of: Arc::clone(of),
                        caller,
                        began: Instant::now(),
                        inner: Arc::default(),
                        has_ended: false,
                    });
                }
                Taken::Exceeded(exceeded) => exceeded,
                Taken::Unknown => {
                    let slices = self.ask(claims).await.map_err(|error| {
                        tracing::error!("budgets cannot be counted: {}", error.with_causes());
                        let message = format!(
                            "Tool '{tool}' was not called: the host cannot count its budgets now."
                        );
                        ToolError::host(ToolErrorCode::Host, message, locale)
                    })?;
                    match slices {
                        Ok(slices) => {
                            lock(&self.known).accounts.give(slices);
                            continue;
                        }
                        Err(exceeded) => exceeded,
                    }
                }
            };
            return Err(refusal::refusal(&exceeded, tool, now, locale));
        }
    }

    async fn ask(
        &self,
        claims: Vec<Claim>,
    ) -> Result<Result<Vec<Slice>, Box<Exceeded>>, StoreError> {
        let store = self.store().await?;
        store.write(move |tx| rows::take(tx, &claims)).await
    }

    /// Adds what a poll or a cancellation of a call has used. It is refused by no budget: the call was counted.
    pub(crate) fn add_later(self: &Arc<Self>, of: &ToolBudgets, caller: &Caller, usage: &Usage) {
        self.add(of, caller, &used(usage));
    }

    /// Adds what was used. Returns whether it is time to write it.
    fn add(self: &Arc<Self>, of: &ToolBudgets, caller: &Caller, amounts: &BudgetAmounts) -> bool {
        let now = (self.clock)();
        let measures = |budget: &&Budget| budget.limits().any(|(_, info, _)| !info.is_reserved());
        let mut is_due = false;
        {
            let mut known = lock(&self.known);
            for budget in of.budgets.iter().filter(measures) {
                let key = AccountKey::of(budget, &caller.bundle, &caller.instance, now);
                known.accounts.add(key, amounts);
                is_due = true;
            }
            is_due &= known
                .last_write
                .is_none_or(|last| last.elapsed() > WRITE_AFTER);
        }
        self.start_writer();
        is_due
    }

    /// Starts the task that writes what is not written yet, unless it runs. It ends when no call has begun or ended for
    /// [`WRITE_AFTER`].
    fn start_writer(self: &Arc<Self>) {
        let mut known = lock(&self.known);
        if known.has_writer || known.accounts.is_empty() {
            return;
        }
        known.has_writer = true;
        let own = Arc::clone(self);
        let threads = self.threads.clone();
        self.threads.spawn_own(async move {
            let mut wait = WRITE_AFTER;
            loop {
                threads.pause(wait).await;
                wait = if own.write(Keeps::Active).await {
                    WRITE_AFTER
                } else {
                    WRITE_AGAIN
                };
                let mut known = lock(&own.known);
                if known.accounts.is_empty() {
                    known.has_writer = false;
                    return;
                }
            }
        });
    }

    /// Writes what calls have used, and gives back all slices.
    pub(crate) async fn flush(&self) {
        self.write(Keeps::Nothing).await;
    }

    /// Writes what calls have used, and gives back the slices that are not kept. Returns false if it failed.
    pub(super) async fn write(&self, keeps: Keeps) -> bool {
        let entries = {
            let mut known = lock(&self.known);
            known.last_write = Some(Instant::now());
            known.accounts.entries(keeps)
        };
        if entries.is_empty() {
            return true;
        }
        let written = match self.store().await {
            Ok(store) => {
                let (now, entries) = ((self.clock)(), entries.clone());
                let write = store.write(move |tx| {
                    rows::sweep(tx, now)?;
                    rows::write(tx, &entries)
                });
                write.await
            }
            Err(error) => Err(error),
        };
        match written {
            Ok(used) => {
                lock(&self.known).accounts.set_used(used);
                true
            }
            Err(error) => {
                let error = error.with_causes();
                tracing::warn!(%error, "what calls have used is not written; it is tried again");
                lock(&self.known).accounts.take_back(entries);
                false
            }
        }
    }

    pub(super) async fn store(&self) -> Result<&Store, StoreError> {
        let open = || state_store::open(&self.threads, self.database.clone(), &rows::SCHEMA);
        self.store.get_or_try_init(open).await
    }
}

impl CountedCall {
    /// What the calls within this one have used.
    pub(crate) fn inner(&self) -> &Arc<InnerSpent> {
        &self.inner
    }

    /// Adds what the call has used. Waits for the store, unless what others have used was written just before.
    pub(crate) async fn end(mut self, usage: &Usage) {
        self.has_ended = true;
        let amounts = self.inner.without(used(usage));
        if self.budgets.add(&self.of, &self.caller, &amounts) {
            self.budgets.write(Keeps::Active).await;
        }
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let mut usage = Usage::default();
        usage.wall = self.began.elapsed();
        let amounts = used(&usage);
        self.budgets.add(&self.of, &self.caller, &amounts);
    }
}

#[cfg(test)]
mod tests;
