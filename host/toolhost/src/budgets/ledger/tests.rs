use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

use toolhost_contract::{ErrorCode, ResourceName};
use toolhost_manifest::Policy;

use toolhost_store::testing;

use super::*;

/// Milliseconds since 1970, which a test sets.
type TestClock = Arc<AtomicU64>;

/// 2026-11-27T14:48:00Z.
const NOW: u64 = 1_795_790_880_000;
const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

fn clock() -> TestClock {
    Arc::new(AtomicU64::new(NOW))
}

/// Makes the budgets of one process.
fn process(root: Option<&Path>, clock: &TestClock) -> Arc<Budgets> {
    let clock = Arc::clone(clock);
    Arc::new(Budgets {
        clock: Box::new(move || UNIX_EPOCH + Duration::from_millis(clock.load(Relaxed))),
        ..Budgets::new(
            Threads::start(2).unwrap(),
            root.map(|root| testing::replaced(root).unwrap_or_else(|| root.into())),
        )
    })
}

fn of(policy: &str, agent: &str, tool: &str) -> Arc<ToolBudgets> {
    let policy = Policy::parse(policy, "p.yaml").unwrap();
    Arc::new(policy.budgets_of(agent, &ResourceName::parse(tool).unwrap()))
}

#[test]
fn all_of_it_is_so_in_postgresql() {
    let of_sqlite = ["if_the_database_fails"];
    testing::rerun("budgets::ledger::tests", &of_sqlite);
}

fn caller(instance: &str) -> Caller {
    Caller {
        bundle: "workspace:shop".into(),
        instance: instance.into(),
    }
}

async fn begin(budgets: &Arc<Budgets>, of: &Arc<ToolBudgets>) -> Result<CountedCall, ToolError> {
    begin_by(budgets, of, "ann").await
}

async fn begin_by(
    budgets: &Arc<Budgets>,
    of: &Arc<ToolBudgets>,
    instance: &str,
) -> Result<CountedCall, ToolError> {
    let tool = ToolName::parse("fetch__get").unwrap();
    let begun = budgets.begin(of, caller(instance), &tool, Locale::En);
    begun.await
}

/// Returns the message of a call that is refused, and what a model is advised.
async fn refused(budgets: &Arc<Budgets>, of: &Arc<ToolBudgets>) -> (String, String) {
    let error = begin(budgets, of).await.err().unwrap();
    assert_eq!(
        error.code,
        ErrorCode::Host(ToolErrorCode::Budget),
        "{error:?}"
    );
    (error.message, error.suggestion.unwrap())
}

fn usage(bytes: u64, requests: u64, seconds: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.bytes_written, usage.http_requests) = (bytes, requests);
    usage.wall = Duration::from_secs(seconds);
    usage
}

#[tokio::test]
async fn a_refusal_names_the_budget_what_is_used_and_when_it_resets() {
    let (budgets, calls) = (
        process(None, &clock()),
        of(
            "tools: {fetch: {budgets: {perHour: {calls: 2}}}}",
            "coder",
            "fetch",
        ),
    );
    for _ in 0..2 {
        begin(&budgets, &calls)
            .await
            .unwrap()
            .end(&usage(0, 0, 0))
            .await;
    }
    let (message, suggestion) = refused(&budgets, &calls).await;
    assert_eq!(
        message,
        "Tool 'fetch__get' was not called: the budget of tool 'fetch' is 2 calls per hour, of which 2 are used. \
         It resets at 2026-11-27T15:00:00.000Z, in 12 minutes."
    );
    assert_eq!(
        suggestion,
        "Go on without this call until the time that the message names: with what you have, or with another tool. \
         Or have the operator raise tools.fetch.budgets.perHour.calls of the policy."
    );
    let costs = of(
        "agents: {coder: {tools: {fetch: {cost: 5}}, budgets: {eachInstance: {perDay: {cost: 8}}}}}",
        "coder",
        "fetch",
    );
    drop(begin(&budgets, &costs).await.unwrap());
    let (message, suggestion) = refused(&budgets, &costs).await;
    assert_eq!(
        message,
        "Tool 'fetch__get' was not called: the budget of agent 'coder', for each instance is 8 cost units per day, of \
         which 5 are used, and this call costs 5. It resets at 2026-11-28T00:00:00.000Z, in 9 hours and 12 minutes."
    );
    assert!(
        suggestion.ends_with("raise agents.coder.budgets.eachInstance.perDay.cost of the policy.")
    );
    // Another instance has a budget of its own, and another agent and tool have none.
    drop(begin_by(&budgets, &costs, "bob").await.unwrap());
}

#[tokio::test]
async fn what_calls_use_is_added_when_they_end_and_stops_the_next_one() {
    let check = async |key: &str, used: Usage, shown: &str| {
        let budgets = process(None, &clock());
        let of = of(&format!("budgets: {{perDay: {{{key}}}}}"), "coder", "fetch");
        // It overshoots once: what a call uses is known when it ends.
        begin(&budgets, &of).await.unwrap().end(&used).await;
        let (message, _) = refused(&budgets, &of).await;
        assert!(message.contains(shown), "{message}");
    };
    check(
        "bytesWritten: 1MiB",
        usage(3 << 20, 0, 0),
        "is 1MiB written per day, of which 3MiB are used",
    )
    .await;
    check(
        "httpRequests: 2",
        usage(0, 2, 0),
        "is 2 HTTP requests per day, of which 2 are used",
    )
    .await;
    check(
        "wallSeconds: 60",
        usage(0, 0, 61),
        "is 60 seconds of running per day, of which 61 are used",
    )
    .await;
    // Less than the limit leaves room.
    let budgets = process(None, &clock());
    let of = of("budgets: {perDay: {bytesWritten: 1MiB}}", "coder", "fetch");
    for _ in 0..3 {
        begin(&budgets, &of)
            .await
            .unwrap()
            .end(&usage(300_000, 9, 9))
            .await;
    }
}

#[tokio::test]
async fn what_inner_calls_use_counts_for_them_and_not_again_for_the_outer_call() {
    let root = tempfile::tempdir().unwrap();
    let (budgets, clock) = (process(Some(root.path()), &clock()), clock());
    let of = of(
        "agents: {coder: {budgets: {perDay: {bytesWritten: 100KiB}}}}",
        "coder",
        "fetch",
    );
    let outer = begin(&budgets, &of).await.unwrap();
    let inner = begin(&budgets, &of).await.unwrap();
    outer.inner().add(&usage(3000, 0, 0));
    inner.end(&usage(3000, 0, 0)).await;
    outer.end(&usage(4000, 0, 0)).await;
    budgets.write(Keeps::Active).await;
    assert_eq!(used(&budgets).await, [4000]);
    drop(clock);
}

/// Returns the use of the limits of all budgets of `coder`, which the tests of one name.
async fn used(budgets: &Arc<Budgets>) -> Vec<u64> {
    let now = (budgets.clock)();
    let read = budgets.store().await.unwrap().read(move |tx| {
        let bundle = caller("").bundle;
        rows::current(tx, &bundle, now)
    });
    let rows = read.await.unwrap();
    let sums = rows.iter().flat_map(|(_, used)| used.iter().copied());
    sums.filter(|sum| *sum > 0).collect()
}

#[tokio::test]
async fn twenty_processes_at_once_never_exceed_a_limit_and_use_it_up() {
    let root = tempfile::tempdir().unwrap();
    for limit in [1_u64, 30, 1000] {
        let clock = clock();
        clock.fetch_add(limit * HOUR, Relaxed);
        let policy = format!("budgets: {{perHour: {{calls: {limit}}}}}");
        let made = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..20)
            .map(|_| {
                let (policy, made) = (policy.clone(), Arc::clone(&made));
                let (root, clock) = (root.path().to_owned(), Arc::clone(&clock));
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().build();
                    runtime.unwrap().block_on(async {
                        let budgets = process(Some(&root), &clock);
                        let of = of(&policy, "coder", "fetch");
                        while let Ok(call) = begin(&budgets, &of).await {
                            made.fetch_add(1, Relaxed);
                            call.end(&usage(0, 0, 0)).await;
                        }
                        budgets.flush().await;
                    });
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let first = made.load(Relaxed);
        assert!(first <= limit, "{first} of {limit}");
        // What slices kept back is there once they are given back.
        let budgets = process(Some(root.path()), &clock);
        let of = of(&policy, "coder", "fetch");
        let mut rest = 0;
        while begin(&budgets, &of).await.is_ok() {
            rest += 1;
        }
        assert_eq!(first + rest, limit);
        assert!(rest <= limit / 3, "{rest} of {limit} were held back");
    }
}

#[tokio::test]
async fn a_process_that_is_killed_has_counted_at_least_the_calls_that_it_began() {
    let root = tempfile::tempdir().unwrap();
    let clock = clock();
    let of = of("budgets: {perHour: {calls: 10000}}", "coder", "fetch");
    for calls in [1, 7, 300] {
        clock.fetch_add(HOUR, Relaxed);
        let killed = process(Some(root.path()), &clock);
        for _ in 0..calls {
            // Neither ended nor dropped, as in a process that is killed.
            std::mem::forget(begin(&killed, &of).await.unwrap());
        }
        let sums = used(&killed).await;
        std::mem::forget(killed);
        assert!(sums[0] >= calls, "{sums:?}");
        // What it had taken for more calls is lost, and is little.
        assert!(sums[0] <= 2 * calls + 10_000 / 64, "{sums:?}");
    }
    // One call takes no more than itself: a command that makes one call loses nothing.
    clock.fetch_add(HOUR, Relaxed);
    let one = process(Some(root.path()), &clock);
    drop(begin(&one, &of).await.unwrap());
    assert_eq!(used(&one).await, [1]);
}

#[tokio::test]
async fn a_slice_is_given_back_when_no_calls_follow() {
    let root = tempfile::tempdir().unwrap();
    let budgets = process(Some(root.path()), &clock());
    let of = of("budgets: {perHour: {calls: 100000}}", "coder", "fetch");
    for _ in 0..100 {
        drop(begin(&budgets, &of).await.unwrap());
    }
    assert!(used(&budgets).await[0] >= 100);
    let mut tries = 0;
    while used(&budgets).await != [100] {
        tries += 1;
        assert!(tries < 200, "{:?}", used(&budgets).await);
        budgets.threads.pause(Duration::from_millis(20)).await;
    }
    // Nothing is kept for budgets that nobody uses, and no task runs for them.
    let is_idle = || {
        let known = lock(&budgets.known);
        known.accounts.is_empty() && !known.has_writer
    };
    let mut tries = 0;
    while !is_idle() {
        tries += 1;
        assert!(tries < 200);
        budgets.threads.pause(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_flush_gives_back_all_and_a_lower_limit_holds_at_once() {
    let root = tempfile::tempdir().unwrap();
    let budgets = process(Some(root.path()), &clock());
    let high = of("budgets: {perHour: {calls: 100000}}", "coder", "fetch");
    for _ in 0..100 {
        drop(begin(&budgets, &high).await.unwrap());
    }
    assert!(used(&budgets).await[0] >= 100);
    let low = of("budgets: {perHour: {calls: 99}}", "coder", "fetch");
    let (message, _) = refused(&budgets, &low).await;
    assert!(message.contains("99 calls per hour"), "{message}");
    budgets.flush().await;
    assert_eq!(used(&budgets).await, [100]);
}

#[tokio::test]
async fn a_new_window_begins_at_the_full_hour_and_a_clock_that_is_set_back_gives_nothing_back() {
    let root = tempfile::tempdir().unwrap();
    let clock = clock();
    let budgets = process(Some(root.path()), &clock);
    let of = of(
        "budgets: {perHour: {calls: 3}, perDay: {calls: 5}}",
        "coder",
        "fetch",
    );
    let begun = async |budgets: &Arc<Budgets>| {
        let mut begun = 0;
        while begin(budgets, &of).await.is_ok() {
            begun += 1;
        }
        begun
    };
    assert_eq!(begun(&budgets).await, 3);
    clock.fetch_add(11 * MINUTE, Relaxed);
    assert_eq!(begun(&budgets).await, 0);
    clock.fetch_add(MINUTE, Relaxed);
    assert_eq!(begun(&budgets).await, 2, "the rest of the day");
    // Back into the hour before, in this process and in another one.
    clock.fetch_sub(MINUTE, Relaxed);
    assert_eq!(begun(&budgets).await, 0);
    budgets.write(Keeps::Active).await;
    assert_eq!(begun(&process(Some(root.path()), &clock)).await, 0);
    // A clock that was wrong for a while: far in the future is a window of its own, and the way back leads to the old.
    clock.fetch_add(30 * 24 * HOUR, Relaxed);
    assert_eq!(begun(&budgets).await, 3);
    clock.fetch_sub(30 * 24 * HOUR, Relaxed);
    assert_eq!(begun(&budgets).await, 0);
    // The next day.
    clock.fetch_add(24 * HOUR, Relaxed);
    assert_eq!(begun(&budgets).await, 3);
    // Before 1970.
    clock.store(0, Relaxed);
    assert_eq!(begun(&budgets).await, 3);
}

#[tokio::test]
async fn rows_of_windows_of_long_ago_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let clock = clock();
    let of = of(
        "budgets: {eachInstance: {perHour: {calls: 3}}}",
        "coder",
        "fetch",
    );
    let count = async |budgets: &Arc<Budgets>| {
        let read =
            budgets.store().await.unwrap().read(|tx| {
                tx.query_row("SELECT count(*) FROM budgets", (), |row| row.get::<i64>(0))
            });
        read.await.unwrap()
    };
    let budgets = process(Some(root.path()), &clock);
    for instance in 0..50 {
        drop(
            begin_by(&budgets, &of, &instance.to_string())
                .await
                .unwrap(),
        );
    }
    budgets.write(Keeps::Active).await;
    assert_eq!(count(&budgets).await, 50);
    clock.fetch_add(41 * 24 * HOUR, Relaxed);
    drop(begin_by(&budgets, &of, "late").await.unwrap());
    budgets.write(Keeps::Active).await;
    assert_eq!(count(&budgets).await, 1);
}

#[tokio::test]
async fn a_call_that_is_dropped_counts_with_the_time_that_it_ran() {
    let budgets = process(None, &clock());
    let of = of(
        "budgets: {perDay: {wallSeconds: 100, calls: 100}}",
        "coder",
        "fetch",
    );
    let mut call = begin(&budgets, &of).await.unwrap();
    call.began = Instant::now().checked_sub(Duration::from_secs(7)).unwrap();
    drop(call);
    budgets.write(Keeps::Active).await;
    let sums = used(&budgets).await;
    assert_eq!(sums[0], 1);
    assert!((7000..8000).contains(&sums[1]), "{sums:?}");
}

#[tokio::test]
async fn a_call_that_one_budget_refuses_is_counted_for_no_other() {
    let budgets = process(None, &clock());
    let of = of(
        "budgets: {perHour: {calls: 10}}\ntools: {fetch: {budgets: {perDay: {calls: 1}}}}",
        "coder",
        "fetch",
    );
    drop(begin(&budgets, &of).await.unwrap());
    for _ in 0..20 {
        let (message, _) = refused(&budgets, &of).await;
        assert!(
            message.contains("tool 'fetch' is 1 call per day"),
            "{message}"
        );
    }
    let sums: BTreeSet<u64> = used(&budgets).await.into_iter().collect();
    assert_eq!(sums, BTreeSet::from([1]));
}

#[tokio::test]
async fn a_call_is_refused_if_the_database_fails() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(
        root.path().join("toolhost.db"),
        "not a database".repeat(100),
    )
    .unwrap();
    let budgets = process(Some(root.path()), &clock());
    let of = of("budgets: {perDay: {calls: 100}}", "coder", "fetch");
    let error = begin(&budgets, &of).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::Host(ToolErrorCode::Host));
    assert!(!error.message.contains("database"), "{}", error.message);
}

#[test]
fn times_are_said_in_words() {
    let check = |seconds: u64, expected: &str| {
        assert_eq!(refusal::in_words(Duration::from_secs(seconds)), expected);
    };
    check(0, "1 minute");
    check(59, "1 minute");
    check(61, "2 minutes");
    check(3600, "1 hour");
    check(3601, "1 hour and 1 minute");
    check(7500, "2 hours and 5 minutes");
}
