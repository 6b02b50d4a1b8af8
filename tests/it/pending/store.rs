//! Results that come later, and a database that does not do what it should.

use rusqlite::Connection;
use toolhost::Agent;
use toolhost_tests::test_host::{write_bundle, yaml};

use super::*;

/// A state root, and an agent of a host on it.
struct Rooted {
    root: tempfile::TempDir,
    work: Work,
    agent: Agent,
    _bundle: tempfile::TempDir,
}

impl Rooted {
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

    /// The database, as another process has it.
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
async fn a_result_that_the_store_cannot_keep_is_interrupted_and_not_pending_for_ever() {
    let test_host = Rooted::new().await;
    let step = test_host.step().await;
    let first = submit(&step, "a", "echo__say", json!({})).await;
    ended(&test_host.instance(), first.handle().unwrap()).await;
    let full = "CREATE TRIGGER full BEFORE UPDATE ON pending BEGIN SELECT RAISE(FAIL, 'full'); END";
    test_host.database().execute_batch(full).unwrap();

    let accepted = submit(&step, "b", "echo__say", json!({})).await;
    let handle = accepted.handle().unwrap();
    let mut result = accepted.clone();
    // It is tried for some seconds.
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
    assert_eq!(state, "done", "it is no longer among the open ones");
}

#[tokio::test]
async fn opening_a_locked_database_holds_up_nobody_else() {
    let test_host = Rooted::new().await;
    let step = test_host.step().await;
    let locked = test_host.database();
    locked.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // Only one thread: were it held, the lock would never be given back.
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
async fn a_large_result_is_told_by_its_handle_alone() {
    let test_host = TestHost::with_tools(&[("echo", "echo", &["say"])], "").await;
    let mut completions = test_host.host.completions().await.unwrap();
    for (bytes, expected) in [(1_000, ToolStatus::Ok), (100_000, ToolStatus::Pending)] {
        let args = json!({"text": "x".repeat(bytes)});
        let accepted = submit(&test_host.step, "c", "echo__say", args).await;
        let Some(Completed::Call(told)) = completions.next().await else {
            panic!("it is told")
        };
        assert_eq!(Some(told.handle.as_str()), accepted.handle());
        assert_eq!(told.result.status(), expected);
        let whole = instance(&test_host).poll(&told.handle).await;
        assert!(whole.output().unwrap().to_string().len() > bytes);
    }
}
