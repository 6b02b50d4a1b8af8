//! Background calls with a locked or failing database.

use rusqlite::Connection;
use toolhost::Agent;
use toolhost_tests::test_host::{write_bundle, yaml};

use super::*;

/// A state root, a host that uses it, and an agent.
struct StateRoot {
    root: tempfile::TempDir,
    work: Work,
    agent: Agent,
    _bundle: tempfile::TempDir,
}

impl StateRoot {
    async fn new() -> Self {
        let (root, bundle) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let manifest = yaml(&[("echo", "echo", &["say"])]);
        write_bundle(bundle.path(), &manifest, &["echo"]);
        let host = Host::builder().sandbox(sandbox()).state_root(root.path());
        let loaded = host.build().unwrap().load(bundle.path()).await.unwrap();
        Self {
            root,
            work: Work::new(),
            agent: loaded.only_agent().unwrap(),
            _bundle: bundle,
        }
    }

    /// Opens the database as another process does.
    fn database(&self) -> Connection {
        Connection::open(self.root.path().join("toolhost.db")).unwrap()
    }

    async fn step(&self) -> Step {
        open_step(&self.agent, "instance", &self.work.workdir).await
    }

    fn instance(&self) -> Instance {
        self.agent.instance("instance", self.work.workdir.clone())
    }
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_becomes_interrupted() {
    let test_host = StateRoot::new().await;
    let step = test_host.step().await;
    let first = submit(&step, "a", "echo__say", json!({})).await;
    ended(&test_host.instance(), first.handle().unwrap()).await;
    let full = "CREATE TRIGGER full BEFORE UPDATE ON pending BEGIN SELECT RAISE(FAIL, 'full'); END";
    test_host.database().execute_batch(full).unwrap();

    let accepted = submit(&step, "b", "echo__say", json!({})).await;
    let handle = accepted.handle().unwrap();
    let mut result = accepted.clone();
    // The host retries for some seconds.
    for _ in 0..1_000 {
        result = test_host.instance().poll(handle).await;
        if result.status() != ToolStatus::Pending {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(code(&result), "E_TOOL_INTERRUPTED");

    test_host
        .database()
        .execute_batch("DROP TRIGGER full")
        .unwrap();
    let result = test_host.instance().poll(handle).await;
    assert_eq!(code(&result), "E_TOOL_INTERRUPTED");
    let state = "SELECT state FROM pending WHERE call_id = 'b'";
    let state: String = test_host
        .database()
        .query_row(state, [], |row| row.get(0))
        .unwrap();
    assert_eq!(state, "done", "the call is not open any more");
}

#[tokio::test]
async fn opening_a_locked_database_does_not_block_other_tasks() {
    let test_host = StateRoot::new().await;
    let step = test_host.step().await;
    let locked = test_host.database();
    locked.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // The runtime has one thread: if it were blocked, the lock would never be released.
    let beside = async {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        locked.execute_batch("ROLLBACK").unwrap();
    };
    let submitted = submit(&step, "c", "echo__say", json!({}));
    let (accepted, ()) = tokio::join!(submitted, beside);
    assert_eq!(accepted.status(), ToolStatus::Pending, "{accepted:?}");
    let result = ended(&test_host.instance(), accepted.handle().unwrap()).await;
    assert_eq!(result.status(), ToolStatus::Ok);
}

#[tokio::test]
async fn the_completion_of_a_large_result_has_only_its_handle() {
    let test_host = TestHost::with_tools(&[("echo", "echo", &["say"])], "").await;
    let mut completions = test_host.host.completions().await.unwrap();
    for (bytes, expected) in [(1_000, ToolStatus::Ok), (100_000, ToolStatus::Pending)] {
        let args = json!({"text": "x".repeat(bytes)});
        let accepted = submit(&test_host.step, "c", "echo__say", args).await;
        let Some(Completed::Call(completed)) = completions.next().await else {
            panic!("a completion arrives")
        };
        assert_eq!(Some(completed.handle.as_str()), accepted.handle());
        assert_eq!(completed.result.status(), expected);
        let whole = instance(&test_host).poll(&completed.handle).await;
        assert!(whole.output().unwrap().to_string().len() > bytes);
    }
}

#[tokio::test]
async fn completions_of_a_store_that_cannot_be_opened_are_an_error_with_its_cause() {
    let state = tempfile::tempdir().unwrap();
    std::fs::write(state.path().join("toolhost.db"), [0xff; 4096]).unwrap();
    let host = Host::builder().sandbox(sandbox()).state_root(state.path());
    let error = host.build().unwrap().completions().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the store of pending calls cannot be opened"
    );
    assert!(std::error::Error::source(&error).is_some());
}
