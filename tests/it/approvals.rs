//! Calls that wait for a person's consent: `ask` in a policy.

mod again;
mod attacks;
mod effects;
mod killed;
mod page;
mod rows;
mod shared;
mod webhook;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost::approvals::{Approval, ApprovalError, Approvals};
use toolhost::{Host, HostBuilder, Instance, LoadedBundle, Policy, Step, ToolResult, ToolStatus};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{TestTool, code, open_step, tool_call_of, write_bundle, yaml};

/// Tools of the tests: one that writes files and calls others, one that sends requests, one that answers later.
const TOOLS: [TestTool<'_>; 5] = [
    ("caller", "call_tools", &["run"]),
    ("other", "call_tools", &["run"]),
    ("web", "fetch", &["run"]),
    ("later", "pending", &["run"]),
    ("files", "file-system", &["read", "write", "remove"]),
];

/// Directories of a host that may be started again.
struct Site {
    top: tempfile::TempDir,
}

/// A host with an open step.
struct Running {
    host: Host,
    loaded: LoadedBundle,
    instance: Instance,
    step: Step,
}

impl Site {
    fn new() -> Self {
        Self::of(&TOOLS)
    }

    /// Makes directories of a host that has these tools.
    fn of(tools: &[TestTool<'_>]) -> Self {
        let top = tempfile::tempdir().unwrap();
        let site = Self { top };
        fs::create_dir(site.path("work")).unwrap();
        fs::create_dir(site.path("bundle")).unwrap();
        let guests: Vec<&str> = tools.iter().map(|(_, guest, _)| *guest).collect();
        write_bundle(&site.path("bundle"), &yaml(tools), &guests);
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn builder(&self, policy: &str) -> HostBuilder {
        let policy = Policy::parse(policy, "policy.yaml").unwrap();
        let host = Host::builder().sandbox(sandbox()).policy(policy);
        host.state_root(self.path("state"))
    }

    async fn start(&self, policy: &str) -> Running {
        self.start_with(self.builder(policy)).await
    }

    async fn start_with(&self, host: HostBuilder) -> Running {
        let host = host.build().unwrap();
        let loaded = host.load(self.path("bundle")).await.unwrap();
        let agent = loaded.only_agent().unwrap();
        let workdir = host.workdir(self.path("work")).unwrap();
        Running {
            instance: agent.instance("instance", workdir.clone()),
            step: open_step(&agent, "instance", &workdir).await,
            host,
            loaded,
        }
    }

    fn work(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path("work").join(name)).ok()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path("work").join(name), text).unwrap();
    }

    /// Names in the workdir.
    fn names(&self) -> Vec<String> {
        names(&self.path("work"))
    }

    /// Staging directories of changes that wait.
    fn held_ids(&self) -> Vec<String> {
        let staging = toolhost_sandbox::StagingRoot::open(&self.path("state")).unwrap();
        staging.held_ids().unwrap()
    }

    /// Staging directories that are left.
    fn staged(&self) -> Vec<String> {
        let mut staged = names(&self.path("state/staging"));
        staged.retain(|name| name != "locks");
        staged
    }
}

fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

impl Running {
    async fn call(&self, tool: &str, args: Value) -> ToolResult {
        let call = tool_call_of("call-1", tool, args);
        self.step.execute_without_message(call).await
    }

    /// Makes a call that has to wait, and returns its handle.
    async fn held(&self, tool: &str, args: Value, effect: &str) -> String {
        let result = self.call(tool, args).await;
        let details = result.awaits_approval();
        let details = details.unwrap_or_else(|| panic!("{result:?}"));
        assert_eq!(details.effect.as_str(), effect);
        result.handle().unwrap().to_owned()
    }

    fn approvals(&self) -> Approvals {
        self.host.approvals()
    }

    /// Returns the only approval that waits.
    async fn waiting(&self) -> Approval {
        let mut waiting = self.approvals().waiting().await.unwrap();
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        waiting.remove(0)
    }

    async fn approve(&self) -> Approval {
        let waiting = self.waiting().await;
        let approved = self.approvals().approve(&waiting.id, "alice", None).await;
        approved.unwrap()
    }

    async fn deny(&self, why: &str) {
        let waiting = self.waiting().await;
        let denied = self.approvals().deny(&waiting.id, "alice", Some(why)).await;
        denied.unwrap();
    }
}

/// Polls until a call has ended.
async fn ended(instance: &Instance, handle: &str) -> ToolResult {
    for _ in 0..2_000 {
        let result = instance.poll(handle).await;
        if result.status() != ToolStatus::Pending {
            return result;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never ended: {handle}");
}

fn write(path: &str) -> Value {
    json!({"path": path, "content": "new\n"})
}

#[tokio::test]
async fn a_call_that_is_always_asked_for_does_not_run_before_somebody_approves() {
    let site = Site::new();
    let running = site.start("tools: {files: {ask: always}}").await;
    let handle = running.held("files__write", write("a.txt"), "call").await;
    let waiting = running.waiting().await;
    assert_eq!(
        waiting.what,
        json!({"tool": "files__write", "args": write("a.txt")})
    );
    assert_eq!(
        (waiting.tool.as_str(), waiting.call_id.as_str()),
        ("files__write", "call-1")
    );
    let polled = running.instance.poll(&handle).await;
    assert_eq!(polled.status(), ToolStatus::Pending);
    assert!(
        polled
            .to_text()
            .contains("AWAITING APPROVAL: A person has to approve this call before it runs")
    );
    assert_eq!(site.names(), Vec::<String>::new());
    running.approve().await;
    let result = ended(&running.instance, &handle).await;
    assert_eq!(result.tool_error(), None);
    assert_eq!(site.work("a.txt").as_deref(), Some("new\n"));
    // A second poll does nothing more.
    site.write("a.txt", "changed since");
    assert_eq!(running.instance.poll(&handle).await, result);
    assert_eq!(site.work("a.txt").as_deref(), Some("changed since"));
    let all = running.approvals().all().await.unwrap();
    assert_eq!(all[0].state.as_str(), "approved");
    assert_eq!(all[0].decision.as_ref().unwrap().by, "alice");
}

#[tokio::test]
async fn what_is_approved_happens_without_a_poll_where_the_instance_is_used() {
    let site = Site::new();
    let running = site.start("tools: {files: {ask: effects}}").await;
    let mut completions = running.host.completions().await.unwrap();
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    running.approve().await;
    let completed = tokio::time::timeout(Duration::from_secs(20), completions.next()).await;
    let Ok(Some(toolhost::pending::Completed::Call(completed))) = completed else {
        panic!("{completed:?}");
    };
    assert_eq!(
        (completed.handle.as_str(), completed.result.status()),
        (handle.as_str(), ToolStatus::Ok)
    );
    assert_eq!(site.work("a.txt").as_deref(), Some("new\n"));
}

#[tokio::test]
async fn a_served_bundle_does_what_was_approved_without_an_instance_and_a_poll() {
    let site = Site::new();
    let policy = "tools: {files: {ask: effects}, later: {ask: always}}";
    let running = site.start(policy).await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let denied = running
        .held("files__write", write("b.txt"), "workdir")
        .await;
    for waiting in running.approvals().waiting().await.unwrap() {
        let doors = running.approvals();
        let decided = if waiting.handle == denied {
            doors.deny(&waiting.id, "bob", None).await
        } else {
            doors.approve(&waiting.id, "bob", None).await
        };
        decided.unwrap();
    }
    drop(running);
    // Another process, which opens an instance for each request.
    let host = site.builder(policy).build().unwrap();
    let loaded = host.load_to_serve(site.path("bundle")).await.unwrap();
    let done = |name: &'static str| {
        let site = &site;
        async move {
            let begun = Instant::now();
            while site.work(name).is_none() {
                assert!(begun.elapsed() < Duration::from_secs(20));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    done("a.txt").await;
    // Also once it was loaded again, of an instance that nobody has any more.
    let loaded = loaded.reload().await.unwrap();
    let (agent, workdir) = (
        loaded.only_agent().unwrap(),
        host.workdir(site.path("work")).unwrap(),
    );
    let step = open_step(&agent, "other", &workdir).await;
    let call = tool_call_of("call_c", "files__write", write("c.txt"));
    let pending = step.execute_without_message(call);
    assert!(pending.await.awaits_approval().is_some());
    drop(step);
    let waiting = host.approvals().waiting().await.unwrap();
    let approved = host.approvals().approve(&waiting[0].id, "bob", None).await;
    approved.unwrap();
    done("c.txt").await;
    assert_eq!(site.names(), ["a.txt", "c.txt"]);
    let instance = agent.instance("instance", workdir);
    assert_eq!(instance.poll(&handle).await.tool_error(), None);
    assert_eq!(
        code(&instance.poll(&denied).await),
        "E_TOOL_APPROVAL_DENIED"
    );
}

#[tokio::test]
async fn another_process_decides_and_another_one_releases() {
    let site = Site::new();
    let policy = "tools: {files: {ask: effects}}";
    let running = site.start(policy).await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    drop(running);
    let doors = Approvals::open(&site.path("state")).unwrap();
    let waiting = doors.waiting().await.unwrap();
    assert_eq!(waiting[0].agent, "default");
    doors
        .approve(&waiting[0].id, "bob", Some("fine"))
        .await
        .unwrap();
    assert_eq!(site.names(), Vec::<String>::new());
    let again = site.start(policy).await;
    let result = ended(&again.instance, &handle).await;
    assert_eq!(result.tool_error(), None);
    assert_eq!(result.output().unwrap()["written"], true);
    // With the receipt of the run that was held.
    assert_eq!(result.usage().changes.files[0].path, "a.txt");
    assert_eq!(site.work("a.txt").as_deref(), Some("new\n"));
    // It can be undone as any commit.
    assert_eq!(again.instance.undo(None).await.unwrap().files, ["a.txt"]);
    assert_eq!(site.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_denied_call_ends_with_the_reason_and_leaves_nothing() {
    let site = Site::new();
    site.write("a.txt", "old\n");
    let running = site.start("tools: {files: {ask: effects}}").await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    assert_eq!(site.staged().len(), 1);
    running.deny("not this file").await;
    let result = ended(&running.instance, &handle).await;
    assert_eq!(code(&result), "E_TOOL_APPROVAL_DENIED");
    assert!(
        result
            .tool_error()
            .unwrap()
            .message
            .ends_with("was not approved: not this file")
    );
    assert_eq!(site.work("a.txt").as_deref(), Some("old\n"));
    assert_eq!(site.staged(), Vec::<String>::new());
    assert!(running.approvals().waiting().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_cancelled_call_waits_for_nothing_and_leaves_nothing() {
    let site = Site::new();
    let running = site.start("tools: {files: {ask: effects}}").await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let waiting = running.waiting().await;
    assert_eq!(
        code(&running.instance.cancel(&handle).await),
        "E_TOOL_CANCELLED"
    );
    assert_eq!(site.staged(), Vec::<String>::new());
    let late = running
        .approvals()
        .approve(&waiting.id, "alice", None)
        .await;
    assert!(matches!(late, Err(ApprovalError::Ended)), "{late:?}");
    assert_eq!(
        code(&running.instance.poll(&handle).await),
        "E_TOOL_CANCELLED"
    );
    assert_eq!(site.names(), Vec::<String>::new());
}

#[tokio::test]
async fn the_first_of_twenty_decisions_counts() {
    let site = Site::new();
    let running = site.start("tools: {files: {ask: effects}}").await;
    for round in 0..5 {
        let path = format!("{round}.txt");
        let handle = running.held("files__write", write(&path), "workdir").await;
        let id = running.waiting().await.id;
        let doors: Vec<Approvals> = (0..4)
            .map(|_| Approvals::open(&site.path("state")).unwrap())
            .chain([running.approvals(), running.instance.approvals()])
            .collect();
        let decisions = (0..20).map(|number| {
            let (door, id) = (doors[number % doors.len()].clone(), id.clone());
            async move {
                let by = format!("person {number}");
                match number % 2 {
                    0 => door.approve(&id, &by, None).await.map(|it| (true, it)),
                    _ => door.deny(&id, &by, None).await.map(|it| (false, it)),
                }
            }
        });
        let decided = futures_util::future::join_all(decisions).await;
        let (counts, others): (Vec<_>, Vec<_>) = decided.into_iter().partition(Result::is_ok);
        let counts: Vec<_> = counts.into_iter().map(Result::unwrap).collect();
        assert_eq!(counts.len(), 1, "{counts:?}");
        for other in others {
            assert!(
                matches!(other, Err(ApprovalError::Decided { .. })),
                "{other:?}"
            );
        }
        let (is_approved, approval) = &counts[0];
        let result = ended(&running.instance, &handle).await;
        assert_eq!(result.tool_error().is_none(), *is_approved);
        assert_eq!(site.work(&path).is_some(), *is_approved);
        let kept = running.approvals().get(&id).await.unwrap();
        assert_eq!(kept.decision, approval.decision);
    }
}

#[tokio::test]
async fn a_rule_allows_denies_or_asks_by_the_arguments() {
    let site = Site::new();
    let policy = "
tools:
  files:
    ask:
      default: always
      allow: [{args: {path: \"docs/*\"}}, {export: read}]
      deny: [{args: {path: \"keys/*\"}}]
";
    let running = site.start(policy).await;
    for dir in ["docs", "keys"] {
        fs::create_dir(site.path("work").join(dir)).unwrap();
    }
    let allowed = running.call("files__write", write("docs/a")).await;
    assert_eq!(allowed.tool_error(), None);
    running.held("files__write", write("other"), "call").await;
    // It leads elsewhere.
    running
        .held("files__write", write("docs/../other"), "call")
        .await;
    for path in ["keys/a", "docs/../keys/a", "./keys/a", "/keys/a"] {
        let denied = running.call("files__write", write(path)).await;
        assert_eq!(code(&denied), "E_TOOL_DENIED", "{path}");
        let message = &denied.tool_error().unwrap().message;
        assert!(
            message.contains("policy refuses calls of tool 'files__write'"),
            "{message}"
        );
    }
    assert_eq!(site.names(), ["docs", "keys"]);
    assert_eq!(site.work("keys/a"), None);
}

#[tokio::test]
async fn nobody_decides_after_the_time_and_a_poll_says_so() {
    let site = Site::new();
    let policy = "tools: {files: {ask: effects}}";
    let host = site
        .builder(policy)
        .pending_expiry(Duration::from_millis(300));
    let running = site.start_with(host).await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let waiting = running.waiting().await;
    tokio::time::sleep(Duration::from_millis(350)).await;
    let late = running
        .approvals()
        .approve(&waiting.id, "alice", None)
        .await;
    // The instance may have noticed it by then.
    assert!(
        matches!(late, Err(ApprovalError::Expired | ApprovalError::Ended)),
        "{late:?}"
    );
    let result = running.instance.poll(&handle).await;
    assert_eq!(code(&result), "E_TOOL_APPROVAL_EXPIRED");
    assert_eq!((site.names(), site.staged()), (vec![], vec![]));
}

#[tokio::test]
async fn a_background_call_keeps_its_handle_while_it_waits() {
    let site = Site::new();
    let running = site.start("tools: {files: {ask: always}}").await;
    let call = tool_call_of("call-1", "files__write", write("a.txt"));
    let message = toolhost::AssistantMessage::for_call(&call);
    let submitted = running.step.submit(call, &message).await;
    let handle = submitted.handle().unwrap().to_owned();
    for _ in 0..1_000 {
        if running
            .instance
            .poll(&handle)
            .await
            .awaits_approval()
            .is_some()
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(site.names(), Vec::<String>::new());
    running.approve().await;
    assert_eq!(ended(&running.instance, &handle).await.tool_error(), None);
    assert_eq!(site.names(), ["a.txt"]);
}
