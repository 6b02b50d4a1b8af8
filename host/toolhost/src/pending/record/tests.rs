mod approvals;
mod limits;
mod lookup;
mod notices;
mod postgres;
#[path = "../../../../toolhost-store/src/tests/second_process.rs"]
#[expect(dead_code, reason = "the tests of the store use the rest")]
mod second_process;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use toolhost_contract::{
    Denial, FileChange, FileChangeKind, FileDigest, JsonObject, Locale, ToolCall, ToolError,
    ToolErrorCode, ToolStatus, Usage,
};

use self::second_process::{SecondProcess, given_state_root, report};
use super::*;
use toolhost_store::testing;
use toolhost_store::{Store, StoreError};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn all_of_it_is_so_in_postgresql() {
    let of_sqlite = ["reads_the_whole_table", "one_of_an_earlier_release"];
    testing::rerun("pending::record::tests", &of_sqlite);
}

fn state_root() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn records_in(root: &Path) -> Records {
    let database = testing::replaced(root).unwrap_or_else(|| root.into());
    Records::new(Store::open(database, &SCHEMA).unwrap(), Locale::En)
}

fn records() -> Records {
    let store = match testing::memory() {
        Some(database) => Store::open(database, &SCHEMA),
        None => Store::in_memory(&SCHEMA),
    };
    Records::new(store.unwrap(), Locale::En)
}

fn owner() -> Owner {
    Owner {
        bundle: "/b/goondan.yaml".to_owned(),
        agent: "coder".to_owned(),
        instance_key: "user-1".to_owned(),
    }
}

fn call(id: &str) -> PendingCall {
    let call = ToolCall::new(id, "build__run", JsonObject::new());
    PendingCall {
        call_id: call.id.clone(),
        tool_name: call.name.clone(),
        turn_id: "turn_1".to_owned(),
        trace_id: Some("trace_1".to_owned()),
        message: AssistantMessage::for_call(&call),
        workdir: Some(CallWorkdir {
            path: OsString::from_vec(b"/srv/\xff".to_vec()).into(),
            inode: u64::MAX,
        }),
        subject: Some("ada".to_owned()),
    }
}

/// A record that is made at second 100 and expires at second 200.
fn new(guest_handle: Option<String>) -> NewRecord {
    NewRecord {
        owner: owner(),
        call: call("call_1"),
        guest_handle,
        expires_at: at(200),
    }
}

/// A call that its process runs.
const BACKGROUND: Option<String> = None;

/// The handle of a component.
fn guest() -> Option<String> {
    Some("job 7".to_owned())
}

fn state_waiting() -> State {
    State::Waiting {
        guest_handle: "job 7".to_owned(),
    }
}

/// The state of a call that the process of these records runs.
fn state_running(records: &Records) -> State {
    State::Running {
        run_id: records.store.run_id().to_string(),
    }
}

async fn accept(records: &Records, guest_handle: Option<String>) -> Handle {
    records.accept(new(guest_handle), at(100)).await.unwrap()
}

async fn state(records: &Records, handle: &Handle) -> State {
    let found = records.find(handle, &owner(), at(150)).await.unwrap();
    found.expect("the record is there").state
}

fn ok(output: Value) -> ToolResult {
    ToolResult::ok("call_1", "build__run", output)
}

fn done(result: &ToolResult) -> State {
    State::Done(Box::new(result.clone()))
}

/// Returns the record that was to be cancelled.
fn of(cancelled: CancelReply) -> Record {
    match cancelled {
        CancelReply::Now(record) | CancelReply::TooLate(record) => record,
    }
}

/// Returns whether a state is that of a call whose process died.
fn is_interrupted(state: &State) -> bool {
    let State::Done(result) = state else {
        return false;
    };
    result
        .tool_error()
        .is_some_and(|error| error.code.as_str() == ToolErrorCode::Interrupted.as_str())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_to_complete_a_record_wins() {
    let root = state_root();
    let two = [records_in(root.path()), records_in(root.path())];
    for source in [guest(), BACKGROUND] {
        let handle = accept(&two[0], source).await;
        let mut all = JoinSet::new();
        for n in 0..100 {
            let (records, handle) = (two[n % 2].clone(), handle.clone());
            all.spawn(async move {
                let result = ok(json!({ "n": n }));
                let won = records.complete(&handle, &result).await.unwrap();
                won.then_some(result)
            });
        }
        let won: Vec<_> = all.join_all().await.into_iter().flatten().collect();
        assert_eq!(won.len(), 1);
        for records in &two {
            assert_eq!(state(records, &handle).await, done(&won[0]));
        }
    }
}

#[tokio::test]
async fn an_ended_record_never_changes_again() {
    let records = records();
    let result = ok(json!(1));
    let cancel = async |handle: &Handle| {
        let was = records.cancel(handle, &owner(), at(150)).await.unwrap();
        of(was.unwrap()).state
    };
    let renew = async |handle: &Handle| {
        let renewed = records.renew_guest_handle(handle, "late".to_owned());
        renewed.await.unwrap()
    };

    let completed = accept(&records, guest()).await;
    assert!(records.complete(&completed, &result).await.unwrap());
    assert_eq!(cancel(&completed).await, done(&result));
    assert!(!records.complete(&completed, &ok(json!(2))).await.unwrap());
    assert!(!renew(&completed).await);
    assert_eq!(state(&records, &completed).await, done(&result));

    for (source, was) in [
        (guest(), state_waiting()),
        (BACKGROUND, state_running(&records)),
    ] {
        let cancelled = accept(&records, source).await;
        assert_eq!(cancel(&cancelled).await, was);
        assert_eq!(cancel(&cancelled).await, State::Cancelled);
        assert!(!records.complete(&cancelled, &result).await.unwrap());
        assert!(!renew(&cancelled).await);
        assert_eq!(state(&records, &cancelled).await, State::Cancelled);
    }
    assert_eq!(records.count_open(&owner(), at(150)).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn either_completing_or_cancelling_wins() {
    let root = state_root();
    let two = [records_in(root.path()), records_in(root.path())];
    for _ in 0..30 {
        let handle = accept(&two[0], BACKGROUND).await;
        let ending = {
            let (records, handle) = (two[0].clone(), handle.clone());
            tokio::spawn(async move { records.complete(&handle, &ok(json!(1))).await.unwrap() })
        };
        let was = two[1].cancel(&handle, &owner(), at(150)).await.unwrap();
        let ended = ending.await.unwrap();
        assert_eq!(of(was.unwrap()).state.is_open(), !ended);
        let left = state(&two[0], &handle).await;
        assert_eq!(left == State::Cancelled, !ended, "{left:?}");
    }
}

#[tokio::test]
async fn a_component_is_polled_with_the_handle_that_it_returned_last() {
    let records = records();
    let handle = accept(&records, guest()).await;
    for renewed in ["job 8", "", "job 9"] {
        let was_waiting = records.renew_guest_handle(&handle, renewed.to_owned());
        assert!(was_waiting.await.unwrap());
        let found = records.find(&handle, &owner(), at(150)).await.unwrap();
        let guest_handle = renewed.to_owned();
        assert_eq!(found.unwrap().state, State::Waiting { guest_handle });
    }
    // The host polls a call that was submitted, which runs on.
    let background = accept(&records, BACKGROUND).await;
    let renewed = records.renew_guest_handle(&background, "job 8".to_owned());
    assert!(renewed.await.unwrap());
    assert_eq!(state(&records, &background).await, state_running(&records));
    let result = ok(json!(1));
    assert!(records.complete(&background, &result).await.unwrap());
    let renewed = records.renew_guest_handle(&background, "job 9".to_owned());
    assert!(!renewed.await.unwrap());
}

#[tokio::test]
async fn a_forged_row_is_an_error() {
    let records = records();
    for forged in [
        r#"{"toolCallId": "c", "toolName": "t", "status": "ok"}"#,
        "not JSON",
    ] {
        let handle = accept(&records, guest()).await;
        assert!(records.complete(&handle, &ok(json!(1))).await.unwrap());
        let forging = records
            .store
            .write(move |tx| tx.execute("UPDATE pending SET result = ?1", [forged]));
        forging.await.unwrap();
        let found = records.find(&handle, &owner(), at(150)).await;
        assert!(matches!(found, Err(StoreError::Failed { .. })), "{found:?}");
    }
}

#[tokio::test]
async fn handles_outlive_the_process_that_made_them() {
    // tool-spec-v2 §10.2
    let root = state_root();
    let first = records_in(root.path());
    let waiting = accept(&first, guest()).await;
    let ended = accept(&first, BACKGROUND).await;
    let left = accept(&first, BACKGROUND).await;
    let result = ok(json!({"built": true}));
    assert!(first.complete(&ended, &result).await.unwrap());
    close(first, root.path());

    let second = records_in(root.path());
    assert_eq!(state(&second, &waiting).await, state_waiting());
    assert_eq!(state(&second, &ended).await, done(&result));
    assert!(is_interrupted(&state(&second, &left).await));
    let interrupted = second.interrupt_dead_runs().await.unwrap();
    assert_eq!(interrupted.len(), 1);
    assert_eq!(interrupted[0].handle, left);
}

/// Drops records and waits until their run is over.
fn close(records: Records, root: &Path) {
    use rustix::fs::{FlockOperation, flock};
    if let Some(database) = testing::replaced(root) {
        let run_id = records.store.run_id();
        drop(records);
        return testing::wait_for_end(&database, &run_id);
    }
    let lock = format!("runs/{}.lock", records.store.run_id());
    let lock = std::fs::File::open(root.join(lock)).unwrap();
    drop(records);
    flock(&lock, FlockOperation::LockShared).unwrap();
}

#[tokio::test]
async fn a_running_record_of_a_dead_process_is_ended_once_and_cannot_be_cancelled() {
    let root = state_root();
    let dead = records_in(root.path());
    let handle = accept(&dead, BACKGROUND).await;
    close(dead, root.path());

    let records = records_in(root.path());
    let was = records.cancel(&handle, &owner(), at(150)).await.unwrap();
    assert!(is_interrupted(&of(was.unwrap()).state));
    assert_eq!(records.interrupt_dead_runs().await.unwrap().len(), 1);
    assert!(!records.complete(&handle, &ok(json!(1))).await.unwrap());
    assert!(records.interrupt_dead_runs().await.unwrap().is_empty());
    let State::Done(result) = state(&records, &handle).await else {
        panic!("not done");
    };
    assert_eq!(
        serde_json::to_value(&*result).unwrap(),
        json!({
            "toolCallId": "call_1",
            "toolName": "build__run",
            "status": "error",
            "error": {
                "message": "Tool 'build__run' was interrupted: the host stopped while it ran.",
                "name": "ToolInterruptedError",
                "code": "E_TOOL_INTERRUPTED",
                "suggestion": ToolErrorCode::Interrupted.suggestion(Locale::En),
                "helpUrl": "https://docs.goondan.ai/errors/E_TOOL_INTERRUPTED",
            },
        })
    );
}

/// The second process of the test below: accepts calls, and ends every fourth, until it is killed.
#[tokio::test]
async fn accepts_calls_as_a_second_process() {
    let Some(root) = given_state_root() else {
        return;
    };
    let records = records_in(&root);
    for n in 0..100_000 {
        let handle = accept(&records, BACKGROUND).await;
        if n % 4 == 3 {
            records.complete(&handle, &ok(json!(n))).await.unwrap();
            report(&format!("ended {}", handle.as_str()));
        } else {
            report(&format!("accepted {}", handle.as_str()));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_records_of_a_killed_process_are_interrupted_exactly_once() {
    let root = state_root();
    let survivors: Vec<_> = (0..3).map(|_| records_in(root.path())).collect();
    let own = accept(&survivors[0], BACKGROUND).await;

    let test = "pending::record::tests::accepts_calls_as_a_second_process";
    let mut other = SecondProcess::start(test, root.path());
    let (mut accepted, mut ended) = (BTreeSet::new(), BTreeSet::new());
    while accepted.len() < 200 {
        let said = other.next_line();
        let (what, handle) = said.split_once(' ').unwrap();
        let handle = Handle::parse(handle).unwrap();
        match what {
            "accepted" => accepted.insert(handle),
            _ => ended.insert(handle),
        };
    }
    let first = accepted.first().unwrap().clone();
    let other_run = state(&survivors[0], &first).await;
    assert!(
        matches!(&other_run, State::Running { run_id } if **run_id != *survivors[0].store.run_id())
    );
    let while_alive = survivors[0].interrupt_dead_runs().await.unwrap();
    assert_eq!(while_alive, []);
    // The process is writing now.
    other.kill();
    if let (Some(database), State::Running { run_id }) =
        (testing::replaced(root.path()), &other_run)
    {
        // Not at once, as a file lock says it.
        testing::wait_for_end(&database, run_id);
    }

    for handle in &accepted {
        assert!(is_interrupted(&state(&survivors[0], handle).await));
    }
    for handle in &ended {
        let state = state(&survivors[0], handle).await;
        assert!(!state.is_open() && !is_interrupted(&state), "{state:?}");
    }

    let left = survivors[0].store.read(move |tx| {
        let sql = "SELECT handle FROM pending WHERE state = 'running' AND run_id <> ?1";
        tx.query_map(sql, [tx.run_id()], |row| row.get(0))
    });
    let left: BTreeSet<String> = left.await.unwrap().into_iter().collect();
    assert!(accepted.iter().all(|handle| left.contains(handle.as_str())));

    let mut racing = JoinSet::new();
    for records in survivors.clone() {
        racing.spawn(async move { records.interrupt_dead_runs().await.unwrap() });
    }
    let ended_now: Vec<_> = racing.join_all().await.into_iter().flatten().collect();
    assert!(ended_now.iter().all(|record| is_interrupted(&record.state)));
    let once: BTreeSet<_> = ended_now
        .iter()
        .map(|r| r.handle.as_str().to_owned())
        .collect();
    assert_eq!(ended_now.len(), once.len(), "none is returned twice");
    assert_eq!(once, left);

    assert_eq!(survivors[1].interrupt_dead_runs().await.unwrap(), []);
    assert_eq!(
        state(&survivors[1], &own).await,
        state_running(&survivors[0])
    );
}

#[tokio::test]
async fn no_query_reads_the_whole_table() {
    let records = records();
    for (sql, index) in [
        (
            "SELECT 1 FROM pending WHERE bundle = 'b' AND agent = 'a' AND instance_key = 'i'
                 AND expires_ms > 1 AND state IN ('running', 'waiting', 'held')",
            "pending_open",
        ),
        (
            "SELECT DISTINCT run_id FROM pending
                 WHERE state IN ('running', 'held') AND run_id IS NOT NULL",
            "pending_running",
        ),
        (
            "SELECT * FROM pending WHERE run_id = 'r' AND state IN ('running', 'held') LIMIT 500",
            "pending_running",
        ),
        (
            "SELECT handle FROM pending WHERE expires_ms <= 1 AND state <> 'running' LIMIT 500",
            "pending_expiry",
        ),
    ] {
        let plan = records.store.read(move |tx| {
            let explain = format!("EXPLAIN QUERY PLAN {sql}");
            tx.query_map(&explain, (), |row| row.get::<String>("detail"))
        });
        let plan = plan.await.unwrap().join("; ");
        assert!(plan.contains(index), "{sql}: {plan}");
    }
}
