//! What the outermost call may use for the calls within it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use toolhost_contract::Limits;

/// Counts all calls within an outermost call, against its limits.
pub(crate) struct Budget {
    calls: Counter,
    at_once: Counter,
    bytes: Counter,
}

/// A sum and the most that it may be.
struct Counter {
    sum: AtomicU64,
    most: u64,
    /// The key of the policy, and what it counts.
    limit: (&'static str, &'static str),
}

/// A call that runs. Dropping it makes room for another one.
pub(crate) struct RunningCall(Arc<Budget>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.at_once.sum.fetch_sub(1, Relaxed);
    }
}

impl Budget {
    pub(crate) fn of(limits: &Limits) -> Arc<Self> {
        let counter = |most, key, what| Counter {
            sum: AtomicU64::new(0),
            most,
            limit: (key, what),
        };
        Arc::new(Self {
            calls: counter(limits.tool_calls, "toolCalls", "calls"),
            at_once: counter(
                limits.tool_calls_at_once,
                "toolCallsAtOnce",
                "calls at once",
            ),
            bytes: counter(
                limits.tool_call_bytes,
                "toolCallBytes",
                "bytes of arguments and outputs",
            ),
        })
    }

    /// Counts a call and its arguments. Returns it while it runs.
    ///
    /// # Errors
    /// The limit that it exceeds. Nothing is counted then.
    pub(crate) fn begin(self: &Arc<Self>, bytes: usize) -> Result<RunningCall, String> {
        self.at_once.add(1)?;
        let running = RunningCall(Arc::clone(self));
        self.calls.add(1)?;
        self.bytes.add(bytes as u64).inspect_err(|_| {
            self.calls.sum.fetch_sub(1, Relaxed);
        })?;
        Ok(running)
    }

    /// Counts an output.
    ///
    /// # Errors
    /// The limit that it exceeds.
    pub(crate) fn add_output(&self, bytes: usize) -> Result<(), String> {
        self.bytes.add(bytes as u64)
    }
}

impl Counter {
    fn add(&self, more: u64) -> Result<(), String> {
        let add = |sum: u64| sum.checked_add(more).filter(|sum| *sum <= self.most);
        let added = self.sum.fetch_update(Relaxed, Relaxed, add);
        added.map(drop).map_err(|_| {
            let (key, what) = self.limit;
            format!(
                "at most {} {what} of other tools are allowed ({key})",
                self.most
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_beyond_a_limit_is_not_counted() {
        let limits = Limits {
            tool_calls: 3,
            tool_calls_at_once: 2,
            tool_call_bytes: 10,
            ..Limits::default()
        };
        let budget = Budget::of(&limits);
        let first = budget.begin(4).ok().unwrap();
        let too_large = budget.begin(7).err().unwrap();
        assert!(too_large.contains("toolCallBytes"), "{too_large}");
        let second = budget.begin(1).ok().unwrap();
        let at_once = budget.begin(0).err().unwrap();
        assert!(at_once.contains("toolCallsAtOnce"), "{at_once}");
        drop((first, second));
        assert_eq!(budget.at_once.sum.load(Relaxed), 0);
        drop(budget.begin(0).ok().unwrap());
        let in_all = budget.begin(0).err().unwrap();
        assert!(in_all.contains("(toolCalls)"), "{in_all}");
        assert_eq!(budget.at_once.sum.load(Relaxed), 0);
        assert_eq!(budget.add_output(5), Ok(()));
        assert!(budget.add_output(1).is_err());
    }
}
