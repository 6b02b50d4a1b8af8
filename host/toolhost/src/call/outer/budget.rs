//! What the outermost call may use for the calls within it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use toolhost_contract::Limits;

/// Counts all calls within an outermost call, against its limits.
pub(crate) struct Budget {
    calls: Counter,
    at_once: Counter,
    bytes: Counter,
    /// Failed calls whose recordings are kept.
    kept: AtomicU64,
}

/// Most failed calls within an outermost call whose recordings are kept: they leave room for those of others.
const KEPT_MAX: u64 = 3;

/// A sum and the most that it may be.
struct Counter {
    sum: AtomicU64,
    limit: CallLimit,
}

/// A limit of the calls within an outermost call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallLimit {
    /// The key of the policy.
    pub(crate) key: &'static str,
    /// What to do beyond it, in English and in Korean.
    pub(crate) advice: [&'static str; 2],
    what: &'static str,
    most: u64,
}

impl fmt::Display for CallLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key, what, most, ..
        } = self;
        write!(
            f,
            "at most {most} {what} of other tools are allowed ({key})"
        )
    }
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
        let counter = |key, most, what, advice| Counter {
            sum: AtomicU64::new(0),
            limit: CallLimit {
                key,
                advice,
                what,
                most,
            },
        };
        Arc::new(Self {
            calls: counter(
                "toolCalls",
                limits.tool_calls,
                "calls",
                [
                    "Return what there is, and do the rest in another call.",
                    "지금까지의 결과를 반환하고 나머지는 다른 호출에서 처리하세요.",
                ],
            ),
            at_once: counter(
                "toolCallsAtOnce",
                limits.tool_calls_at_once,
                "calls at once",
                [
                    "Wait for calls before starting others.",
                    "먼저 시작한 호출이 끝나기를 기다린 뒤 다음 호출을 시작하세요.",
                ],
            ),
            bytes: counter(
                "toolCallBytes",
                limits.tool_call_bytes,
                "bytes of arguments and outputs",
                [
                    "Pass and ask for less, such as parts of files.",
                    "파일의 일부처럼 더 적은 데이터를 주고받으세요.",
                ],
            ),
            kept: AtomicU64::new(0),
        })
    }

    /// Counts a call and its arguments. Returns it while it runs.
    ///
    /// # Errors
    /// The limit that it exceeds. Nothing is counted then.
    pub(crate) fn begin(self: &Arc<Self>, bytes: usize) -> Result<RunningCall, CallLimit> {
        self.at_once.add(1)?;
        let running = RunningCall(Arc::clone(self));
        self.calls.add(1)?;
        self.bytes.add(bytes as u64).inspect_err(|_| {
            self.calls.sum.fetch_sub(1, Relaxed);
        })?;
        Ok(running)
    }

    /// Counts a failed call. Returns whether its recording is to be kept.
    pub(crate) fn keeps_recording(&self) -> bool {
        self.kept.fetch_add(1, Relaxed) < KEPT_MAX
    }

    /// Counts an output.
    ///
    /// # Errors
    /// The limit that it exceeds.
    pub(crate) fn add_output(&self, bytes: usize) -> Result<(), CallLimit> {
        self.bytes.add(bytes as u64)
    }
}

impl Counter {
    fn add(&self, more: u64) -> Result<(), CallLimit> {
        let add = |sum: u64| sum.checked_add(more).filter(|sum| *sum <= self.limit.most);
        let added = self.sum.fetch_update(Relaxed, Relaxed, add);
        added.map(drop).map_err(|_| self.limit.clone())
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
        assert_eq!(too_large.key, "toolCallBytes");
        let second = budget.begin(1).ok().unwrap();
        let at_once = budget.begin(0).err().unwrap();
        assert_eq!(at_once.key, "toolCallsAtOnce");
        drop((first, second));
        assert_eq!(budget.at_once.sum.load(Relaxed), 0);
        drop(budget.begin(0).ok().unwrap());
        let in_all = budget.begin(0).err().unwrap();
        assert_eq!(in_all.key, "toolCalls");
        assert_eq!(budget.at_once.sum.load(Relaxed), 0);
        assert_eq!(budget.add_output(5), Ok(()));
        assert!(budget.add_output(1).is_err());
    }
}
