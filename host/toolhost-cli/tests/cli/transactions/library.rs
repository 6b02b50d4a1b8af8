//! The library in this process: calls of one host at the same time, and calls that are stopped while their
//! changes are committed.

use std::fs::{self, File};
use std::future::Future;
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost::sandbox::CacheConfig;
use toolhost::workdir::UndoError;
use toolhost::{
    AssistantMessage, Host, Instance, Policy, Sandbox, SandboxConfig, Step, ToolCall, ToolResult,
    ToolStatus, Turn, TurnStart,
};

use super::TRANSACTIONAL;
use crate::terminal::Terminal;

/// A host whose state root lies beside the workdir.
struct Setup {
    top: TempDir,
    instance: Instance,
    sandbox: Sandbox,
    _terminal: Terminal,
}

impl Setup {
    async fn new() -> Self {
        Self::with_policy(TRANSACTIONAL).await
    }

    async fn with_policy(policy: &str) -> Self {
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let top = tempfile::tempdir_in(shared).unwrap();
        for dir in ["work", "state"] {
            fs::create_dir(top.path().join(dir)).unwrap();
        }
        let terminal = Terminal::new();
        let tools: [(_, &[_]); 3] = [
            ("bash", &["exec"]),
            ("pending", &["run"]),
            ("write_bytes", &["run"]),
        ];
        let bundle = terminal.bundle("bundle", &tools);
        let mut config = SandboxConfig::default();
        // Those of the binary in other tests, so that each guest is compiled once.
        let key = shared.join("cli-state/toolhost/cache.key");
        config.cache = Some(CacheConfig::new(shared.join("cli-cache/toolhost"), key));
        let sandbox = Sandbox::new(config).unwrap();
        let host = Host::builder()
            .sandbox(sandbox.clone())
            .policy(Policy::parse(policy, "policy.yaml").unwrap())
            .state_root(top.path().join("state"))
            .build()
            .unwrap();
        let loaded = host.load(&bundle).await.unwrap();
        let workdir = host.workdir(top.path().join("work")).unwrap();
        let instance = loaded.only_agent().unwrap().instance("user-1", workdir);
        Self {
            top,
            instance,
            sandbox,
            _terminal: terminal,
        }
    }

    async fn step(&self) -> (Turn, Step) {
        let start = TurnStart::new("turn-1");
        let turn = self.instance.open_turn(start).await.unwrap();
        let step = turn.open_step().await.unwrap();
        (turn, step)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join("work").join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// The staging directories of calls that have changed something, and undo records.
    fn staged(&self) -> usize {
        super::staged_beneath(
            &self.top.path().join("state/staging"),
            &self.top.path().join("work"),
        )
        .len()
    }

    /// Keeps commits to the workdir waiting, as another process that commits does.
    fn hold_commits(&self) -> HeldCommits {
        let locks = self.top.path().join("state/staging/locks");
        if !locks.exists() {
            fs::DirBuilder::new().mode(0o700).create(&locks).unwrap();
        }
        let inode = fs::metadata(self.top.path().join("work")).unwrap().ino();
        let path = locks.join(format!("{inode:016x}.lock"));
        let file = File::create(&path).unwrap();
        file.lock().unwrap();
        HeldCommits { path, _file: file }
    }
}

/// The lock of a workdir. Commits go on when it is dropped.
struct HeldCommits {
    path: PathBuf,
    _file: File,
}

impl HeldCommits {
    /// Waits until a commit of this process waits for the lock.
    async fn until_one_waits(&self) {
        eventually(|| self.waiting() > 0).await;
    }

    /// Returns how many commits of this process wait for the lock, each on a thread.
    fn waiting(&self) -> usize {
        let open = fs::read_dir("/proc/self/fd").unwrap();
        let open = open.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
        open.filter(|path| *path == self.path).count() - 1
    }
}

async fn eventually(is_true: impl Fn() -> bool) {
    let waits = async {
        while !is_true() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waits).await;
    waited.unwrap();
}

fn call(id: &str, tool: &str, args: &Value) -> ToolCall {
    ToolCall::new(id, tool, args.as_object().unwrap().clone())
}

fn bash(id: &str, line: &str) -> ToolCall {
    call(id, "bash__exec", &json!({ "command": line }))
}

fn code(result: &ToolResult) -> String {
    let error = result.tool_error();
    error.map_or_else(String::new, |error| error.code.to_string())
}

/// A call that writes `b` and then waits for the file `go`.
const WAITING: &str = "echo x > b; while [ ! -e go ]; do sleep 0.02; done";

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(test);
}

#[test]
fn of_two_calls_of_one_step_on_one_file_one_is_committed_and_the_other_names_the_file() {
    run(async {
        let setup = Setup::new().await;
        fs::write(setup.path("a"), "1\n").unwrap();
        let (_turn, step) = setup.step().await;
        let late = format!("echo late >> a; {WAITING}");
        let late = step.execute_without_message(bash("late", &late));
        let first = async {
            eventually(|| setup.staged() == 1).await;
            let first = bash("first", "echo first >> a");
            let result = step.execute_without_message(first).await;
            fs::write(setup.path("go"), "").unwrap();
            result
        };
        let (late, first) = tokio::join!(late, first);
        assert_eq!(first.status(), ToolStatus::Ok, "{first:?}");
        assert_eq!(first.usage().changes.files[0].path, "a");
        let error = late.tool_error().unwrap();
        assert_eq!(error.code.to_string(), "E_TOOL_WORKDIR_CONFLICT");
        assert!(error.message.contains("`a`"), "{error:?}");
        assert!(error.suggestion.as_ref().unwrap().contains("Read"));
        assert!(late.usage().changes.is_empty(), "{late:?}");
        assert_eq!(setup.read("a").unwrap(), "1\nfirst\n");
        assert_eq!(setup.read("b"), None);
        // The failed call is recorded as failed.
        let recorded = fs::read_to_string(late.recording().unwrap()).unwrap();
        assert!(recorded.contains("E_TOOL_WORKDIR_CONFLICT"), "{recorded}");
        // Only the undo record of the first one is left.
        assert_eq!(setup.staged(), 1);
    });
}

#[test]
fn whoever_reads_a_file_beside_commits_finds_the_former_bytes_or_the_new_ones() {
    run(async {
        let setup = Setup::new().await;
        let sizes = [100_000, 250_000];
        fs::write(setup.path("f"), vec![b'x'; sizes[0]]).unwrap();
        let (_turn, step) = setup.step().await;
        let is_done = AtomicBool::new(false);
        let read = || {
            let (mut seen, mut bytes) = ([0; 2], Vec::new());
            while !is_done.load(Relaxed) {
                bytes.clear();
                let mut file = File::open(setup.path("f")).unwrap();
                file.read_to_end(&mut bytes).unwrap();
                let known = sizes.iter().position(|size| *size == bytes.len());
                seen[known.unwrap_or_else(|| panic!("{} bytes", bytes.len()))] += 1;
            }
            seen
        };
        let seen = thread::scope(|scope| {
            let reader = scope.spawn(read);
            let written = async {
                for number in 1..=60 {
                    let args = json!({"path": "/f", "bytes": sizes[number % 2], "chunk": 10_000});
                    let call = call("call_1", "write_bytes__run", &args);
                    let result = step.execute_without_message(call).await;
                    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
                }
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(written));
            is_done.store(true, Relaxed);
            reader.join().unwrap()
        });
        assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
    });
}

#[test]
fn a_call_that_changes_nothing_waits_for_no_commit() {
    run(async {
        let setup = Setup::new().await;
        fs::write(setup.path("a"), "1\n").unwrap();
        let (_turn, step) = setup.step().await;
        let held = setup.hold_commits();
        for line in ["cat a", "cat missing"] {
            let result = step.execute_without_message(bash("call_1", line)).await;
            assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
        }
        assert_eq!(setup.staged(), 0);
        drop(held);
    });
}

#[test]
fn commits_that_wait_for_each_other_keep_one_thread_busy() {
    run(async {
        let setup = Setup::new().await;
        let (_turn, step) = setup.step().await;
        let held = setup.hold_commits();
        let threads = std::thread::available_parallelism().unwrap().get();
        let calls = (0..threads + 4).map(|n| {
            let call = bash(&format!("call_{n}"), &format!("echo x > f{n}"));
            step.execute_without_message(call)
        });
        let computed = async {
            held.until_one_waits().await;
            eventually(|| setup.staged() == threads + 4).await;
            // Meanwhile the other calls end, and wait for their turn without a thread.
            for _ in 0..100 {
                setup.sandbox.threads().compute(|| ()).await.unwrap();
            }
            assert_eq!(held.waiting(), 1);
            assert_eq!(setup.read("f0"), None);
            drop(held);
        };
        let (results, ()) = tokio::join!(futures_util::future::join_all(calls), computed);
        for (n, result) in results.iter().enumerate() {
            assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
            assert_eq!(setup.read(&format!("f{n}")).unwrap(), "x\n");
        }
    });
}

#[test]
fn a_script_that_fails_leaves_no_trace_and_its_output_reaches_the_model_with_a_note() {
    let policy = "
defaults: {workdir: transactional}
tools:
  bash: {commitWhen: {pointer: /exitCode, equals: 0}}
  pending: {commitWhen: {pointer: /exitCode, equals: 0}}
";
    run(async {
        let setup = Setup::with_policy(policy).await;
        fs::write(setup.path("a"), "1\n").unwrap();
        let (_turn, step) = setup.step().await;
        let script = "echo x > b; echo 2 >> a; echo said; exit 3";
        let failed = step.execute_without_message(bash("call_1", script)).await;
        assert_eq!(failed.status(), ToolStatus::Ok, "{failed:?}");
        let output = failed.output().unwrap();
        assert_eq!(
            (&output["exitCode"], &output["stdout"]),
            (&json!(3), &json!("said\n"))
        );
        assert!(
            failed
                .to_text()
                .contains("\nNOTE: The call's changes of files were dropped")
        );
        assert!(failed.usage().changes_dropped && failed.usage().changes.is_empty());
        assert_eq!(
            (setup.read("a").unwrap(), setup.read("b")),
            ("1\n".to_owned(), None)
        );
        assert_eq!(setup.staged(), 0);
        // A script that fails and changes nothing has no note.
        let read = step.execute_without_message(bash("call_2", "cat a; false"));
        assert_eq!(read.await.note(), None);
        let succeeded = step
            .execute_without_message(bash("call_3", "echo x > b"))
            .await;
        assert_eq!(
            (succeeded.note(), setup.read("b").unwrap().as_str()),
            (None, "x\n")
        );
        // An answer without an output meets no condition.
        let args = json!({"handle": "job", "write": "/c"});
        let pending = step
            .execute_without_message(call("call_4", "pending__run", &args))
            .await;
        assert_eq!(pending.status(), ToolStatus::Pending, "{pending:?}");
        assert!(pending.note().is_some());
        assert_eq!((setup.read("c"), setup.staged()), (None, 0));
        let records = setup.instance.undo_records().await.unwrap();
        let labels: Vec<_> = records.iter().map(|record| &record.label).collect();
        assert_eq!(labels, ["bash__exec call_3"]);
    });
}

#[test]
fn commits_that_wait_for_another_process_delay_neither_checks_of_arguments_nor_loads() {
    run(async {
        let setup = Setup::new().await;
        let held = setup.hold_commits();
        let (_turn, step) = setup.step().await;
        let commit = step.execute_without_message(bash("call_1", "echo x > b"));
        // Undos take no turns: each waits for the lock by itself.
        let threads = std::thread::available_parallelism().unwrap().get();
        let undos = (0..threads).map(|_| setup.instance.undo(None));
        let others = async {
            held.until_one_waits().await;
            // They leave threads to others.
            setup.sandbox.threads().compute(|| ()).await.unwrap();
            assert_eq!(setup.read("b"), None);
            drop(held);
        };
        let undos = futures_util::future::join_all(undos);
        let (result, undos, ()) = tokio::join!(commit, undos, others);
        assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
        let gave_up = |undone: &Result<_, UndoError>| matches!(undone, Err(UndoError::Busy { .. }));
        assert!(!undos.iter().any(gave_up), "{undos:?}");
    });
}

#[test]
fn a_call_that_is_stopped_while_it_commits_returns_the_result_of_the_commit() {
    run(async {
        let setup = Setup::new().await;
        let (_turn, step) = setup.step().await;
        let held = setup.hold_commits();
        let call = bash("call_1", "echo x > b");
        let message = AssistantMessage::for_call(&call);
        // Stopped while the commit waits, which then goes on.
        let stop = async move { held.until_one_waits().await };
        let result = step.execute_until(call, &message, stop).await;
        assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
        assert_eq!(result.usage().changes.files[0].path, "b");
        assert_eq!(setup.read("b").unwrap(), "x\n");
        // Before the commit, nothing is kept.
        let call = bash("call_2", &format!("rm b; {WAITING}"));
        let message = AssistantMessage::for_call(&call);
        let stop = eventually(|| setup.staged() == 1);
        let result = step.execute_until(call, &message, stop).await;
        assert_eq!(code(&result), "E_TOOL_CANCELLED", "{result:?}");
        // The guest may end on another thread.
        eventually(|| setup.staged() == 0).await;
        assert_eq!(setup.read("b").unwrap(), "x\n");
    });
}

#[test]
fn a_call_that_is_dropped_while_it_commits_is_committed_and_can_be_undone() {
    run(async {
        let setup = Setup::new().await;
        let (_turn, step) = setup.step().await;
        let held = setup.hold_commits();
        {
            let mut called = pin!(step.execute_without_message(bash("call_1", "echo x > b")));
            tokio::select! {
                result = &mut called => panic!("{result:?}"),
                () = held.until_one_waits() => {}
            }
        }
        assert_eq!(setup.read("b"), None);
        drop(held);
        eventually(|| setup.read("b").is_some_and(|text| text == "x\n")).await;
        let undone = setup.instance.undo(None).await.unwrap();
        assert_eq!(undone.label, "bash__exec call_1");
        assert_eq!(setup.read("b"), None);
    });
}

#[test]
fn a_call_that_answers_pending_and_is_not_committed_has_failed_and_is_cancelled() {
    run(async {
        let setup = Setup::new().await;
        let (_turn, step) = setup.step().await;
        let held = setup.hold_commits();
        let args = json!({"handle": "job", "write": "/a"});
        let called = step.execute_without_message(call("call_1", "pending__run", &args));
        let others = async {
            held.until_one_waits().await;
            fs::write(setup.path("a"), "mine").unwrap();
            drop(held);
        };
        let (result, ()) = tokio::join!(called, others);
        assert_eq!(code(&result), "E_TOOL_WORKDIR_CONFLICT", "{result:?}");
        assert_eq!(setup.read("a").unwrap(), "mine");
        // The component was asked to cancel its work, in a transaction of its own.
        assert_eq!(setup.read("cancelled").unwrap(), "job");
    });
}

#[test]
fn a_poll_whose_changes_are_not_committed_can_be_repeated() {
    run(async {
        let setup = Setup::new().await;
        let (_turn, step) = setup.step().await;
        let args = json!({"handle": "write:/a", "write": "/asked"});
        let result = step.execute_without_message(call("call_1", "pending__run", &args));
        let result = result.await;
        let handle = result.handle().unwrap().to_owned();
        assert_eq!(setup.read("asked").unwrap(), "write:/a");
        let held = setup.hold_commits();
        let polled = setup.instance.poll_reply(&handle);
        let others = async {
            held.until_one_waits().await;
            fs::write(setup.path("a"), "mine").unwrap();
            drop(held);
        };
        let (reply, ()) = tokio::join!(polled, others);
        assert_eq!(code(&reply.result), "E_TOOL_WORKDIR_CONFLICT", "{reply:?}");
        assert!(!reply.has_ended);
        assert_eq!(setup.read("a").unwrap(), "mine");
        let result = setup.instance.poll(&handle).await;
        assert_eq!(result.output(), Some(&Value::Bool(true)), "{result:?}");
        assert_eq!(setup.read("a").unwrap(), "polled");
        // Each is undone by itself.
        setup.instance.undo(None).await.unwrap();
        assert_eq!(setup.read("a").unwrap(), "mine");
        assert_eq!(setup.read("asked").unwrap(), "write:/a");
    });
}

#[test]
fn a_call_whose_handle_cannot_be_stored_leaves_no_trace() {
    run(async {
        let setup = Setup::new().await;
        let (_turn, step) = setup.step().await;
        fs::write(setup.top.path().join("state/toolhost.db"), "no database").unwrap();
        let args = json!({"handle": "job", "write": "/a"});
        let result = step.execute_without_message(call("call_1", "pending__run", &args));
        let result = result.await;
        assert_eq!(code(&result), "E_HOST", "{result:?}");
        assert!(result.usage().files_made > 0, "it ran: {result:?}");
        assert!(result.usage().changes.is_empty(), "{result:?}");
        assert_eq!(setup.read("a"), None);
        // The component was asked to cancel its work.
        assert_eq!(setup.read("cancelled").unwrap(), "job");
    });
}
