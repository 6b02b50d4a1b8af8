//! Calls that run on workers: hosts and workers in one process, over a carrier in memory that fails.

mod carrier;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost::fleet::{Worker, WorkerConfig, WorkerError, WorkerInfo, Workers, drain};
use toolhost::{
    Host, HostBuilder, HostError, Instance, LoadedBundle, Policy, Step, ToolResult, ToolStatus,
};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{TestTool, code, tool_call_of, write_bundle, yaml};

use self::carrier::{AGAIN, LEASE, MemoryCarrier};

const TOOLS: [TestTool<'_>; 5] = [
    ("bytes", "write_bytes", &["run"]),
    ("echo", "echo_raw", &["run"]),
    ("sleeper", "sleep_forever", &["run"]),
    ("later", "pending", &["run"]),
    ("environment", "look_at_environment", &["run"]),
];

/// All tools run on workers; the rules of `tools` are added.
fn policy(tools: &str) -> String {
    format!(
        "workspace: fleet
workers: {{nats: {{url: \"nats://localhost:4222\"}}}}
defaults: {{placement: any, limits: {{deadlineMs: 5000}}}}
tools: {{{tools}}}
"
    )
}

struct Site {
    top: tempfile::TempDir,
    carrier: MemoryCarrier,
}

/// A host with an instance that has a workspace of its own.
struct Origin {
    host: Host,
    instance: Instance,
    step: Step,
}

impl Site {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let carrier = MemoryCarrier::new();
        let site = Self { top, carrier };
        fs::create_dir(site.path("bundle")).unwrap();
        let guests: Vec<&str> = TOOLS.iter().map(|(_, guest, _)| *guest).collect();
        write_bundle(&site.path("bundle"), &yaml(&TOOLS), &guests);
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

    async fn load(&self, host: HostBuilder) -> (Host, LoadedBundle) {
        let host = host.build().unwrap();
        let loaded = host.load(self.path("bundle")).await.unwrap();
        (host, loaded)
    }

    async fn origin(&self, tools: &str) -> Origin {
        let workers = Workers::new(Arc::new(self.carrier.clone()));
        self.origin_with(self.builder(&policy(tools)).workers(workers))
            .await
    }

    async fn origin_with(&self, host: HostBuilder) -> Origin {
        let (host, loaded) = self.load(host).await;
        let workspace = loaded.instance_workspace("user-1").unwrap();
        let instance = loaded.only_agent().unwrap().instance("user-1", workspace);
        let turn = instance.open_turn("turn-1").await.unwrap();
        let step = turn.open_step().await.unwrap();
        Origin {
            host,
            instance,
            step,
        }
    }

    async fn worker(&self, tools: &str) -> Worker {
        self.worker_with(tools, WorkerConfig::default()).await
    }

    async fn worker_with(&self, tools: &str, config: WorkerConfig) -> Worker {
        let (_, loaded) = self.load(self.builder(&policy(tools)).as_worker()).await;
        let carrier = Arc::new(self.carrier.clone());
        Worker::start(loaded, carrier, config).await.unwrap()
    }

    /// Waits until nothing is under way.
    async fn quiet(&self) {
        let began = Instant::now();
        while self.carrier.left() > 0 {
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "messages are left"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Origin {
    async fn call(&self, tool: &str, args: Value) -> ToolResult {
        let call = tool_call_of("call-1", tool, args);
        self.step.execute_without_message(call).await
    }

    async fn append(&self, path: &str) -> ToolResult {
        let args = json!({"path": path, "mode": "append", "bytes": 1});
        self.call("bytes__run", args).await
    }

    /// The length of a file of the workspace; none if it is not there.
    fn size(&self, path: &str) -> Option<u64> {
        let workspace = PathBuf::from(self.instance.workdir().path());
        Some(fs::metadata(workspace.join(path)).ok()?.len())
    }
}

fn output(result: &ToolResult) -> &Value {
    result.output().unwrap_or_else(|| panic!("{result:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_on_a_worker_has_the_result_that_it_has_in_the_host() {
    let site = Site::new();
    let local = "environment: {placement: local}";
    let origin = site.origin("").await;
    let worker = site.worker("").await;
    let cases = [
        (
            "echo__run",
            json!({"output": "{\"text\": \"é\", \"n\": 1.5}"}),
        ),
        ("echo__run", json!({"output": "no JSON"})),
        ("echo__run", json!({"depth": 1000})),
        ("bytes__run", json!({"path": "a/b", "bytes": 10})),
        ("bytes__run", json!({"path": "/f", "bytes": 10})),
        ("environment__run", json!({})),
        ("missing__run", json!({})),
    ];
    let mut on_workers = Vec::new();
    for (tool, args) in &cases {
        on_workers.push(origin.call(tool, args.clone()).await);
    }
    assert_eq!(worker.info().ended, 6);
    assert_eq!(origin.size("f"), Some(10));
    site.quiet().await;
    drop(worker);

    let at_home = policy(local).replace("placement: any", "placement: local");
    let origin = site.origin_with(site.builder(&at_home)).await;
    for ((tool, args), on_worker) in cases.iter().zip(on_workers) {
        let in_host = origin.call(tool, args.clone()).await;
        let json = |result: &ToolResult| serde_json::to_value(result).unwrap();
        assert_eq!(json(&on_worker), json(&in_host), "{tool} {args}");
        let files = |result: &ToolResult| result.usage().changes.files.len();
        assert_eq!(files(&on_worker), files(&in_host), "{tool} {args}");
        assert_eq!(on_worker.usage().denials, in_host.usage().denials);
        assert_eq!(
            on_worker.usage().bytes_written,
            in_host.usage().bytes_written
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_call_runs_on_one_of_several_workers() {
    let site = Site::new();
    let origin = site.origin("").await;
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(site.worker("").await);
    }
    let calls = (0..150).map(|number| {
        let origin = &origin;
        async move { origin.append(&format!("file-{number}")).await }
    });
    let results = futures_util::future::join_all(calls).await;
    for (number, result) in results.iter().enumerate() {
        assert_eq!(output(result)["written"], 1, "{result:?}");
        assert_eq!(origin.size(&format!("file-{number}")), Some(1));
    }
    let ended: Vec<u64> = workers.iter().map(|worker| worker.info().ended).collect();
    assert_eq!(ended.iter().sum::<u64>(), 150, "{ended:?}");
    assert!(ended.iter().all(|ended| *ended > 0), "{ended:?}");
    site.quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_delivered_several_times_changes_files_once() {
    for rules in ["", "bytes: {workdir: transactional}"] {
        let site = Site::new();
        site.carrier.faults.copies.store(3, Relaxed);
        let origin = site.origin(rules).await;
        let _workers = [site.worker(rules).await, site.worker(rules).await];
        for number in 0..40 {
            let path = format!("file-{number}");
            let result = origin.append(&path).await;
            assert_eq!(output(&result)["size"], 1, "{rules} {result:?}");
        }
        tokio::time::sleep(AGAIN * 2).await;
        for number in 0..40 {
            assert_eq!(origin.size(&format!("file-{number}")), Some(1), "{rules}");
        }
        if !rules.is_empty() {
            let undo = origin.instance.undo_records().await.unwrap();
            assert_eq!(undo.len(), 16, "one for each of the last calls");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_report_gets_lost_has_the_same_report_again() {
    for rules in ["", "bytes: {workdir: transactional}"] {
        let site = Site::new();
        let origin = site.origin(rules).await;
        let _worker = site.worker(rules).await;
        site.carrier.faults.lost_reports.store(1, Relaxed);
        let result = origin.append("file").await;
        assert_eq!(output(&result)["size"], 1, "{rules} {result:?}");
        assert_eq!(origin.size("file"), Some(1), "{rules}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_carrier_that_fails_for_a_while_delays_calls() {
    let site = Site::new();
    let origin = site.origin("").await;
    let _worker = site.worker("").await;
    for failures in [1, 2, 4] {
        site.carrier.faults.failures.store(failures, Relaxed);
        let result = origin.append(&format!("file-{failures}")).await;
        assert_eq!(output(&result)["size"], 1, "{result:?}");
    }
}

/// Starts a call of 2 s on a worker, which is killed then; another one takes its place. Returns the result, and how often the
/// call ran.
async fn after_death(rules: &str) -> (ToolResult, Option<u64>) {
    let site = Site::new();
    let origin = site.origin(rules).await;
    let worker = site.worker(rules).await;
    let args = json!({"seconds": 1.0, "path": "trace", "mode": "append"});
    let (result, ()) = tokio::join!(origin.call("sleeper__run", args), async {
        while worker.info().running == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(worker);
        tokio::time::sleep(LEASE).await;
        std::mem::forget(site.worker(rules).await);
    });
    (result, origin.size("trace"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_worker_dies_is_interrupted_unless_it_may_run_again() {
    let (result, _) = after_death("sleeper: {repeatable: false}").await;
    assert_eq!(code(&result), "E_TOOL_INTERRUPTED");
    let text = &result.tool_error().unwrap().message;
    assert_eq!(
        text,
        "Tool 'sleeper__run' was interrupted: the worker that ran it ended."
    );
    for rules in [
        "sleeper: {repeatable: true}",
        "sleeper: {workdir: transactional}",
        "sleeper: {readOnly: true}",
    ] {
        let (result, _) = after_death(rules).await;
        assert_eq!(output(&result), &json!({"slept": 1.0}), "{rules}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_nobody_waits_for_is_stopped_and_does_not_begin_later() {
    let site = Site::new();
    let origin = site.origin("").await;
    let worker = site.worker("").await;
    let call = origin.call("sleeper__run", json!({}));
    assert!(
        tokio::time::timeout(Duration::from_millis(300), call)
            .await
            .is_err()
    );
    let began = Instant::now();
    while worker.info().running > 0 {
        assert!(began.elapsed() < Duration::from_secs(3), "it runs on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    site.quiet().await;
    worker.drain().await;
    drop(worker);

    for rules in [
        "",
        "bytes: {workdir: transactional}",
        "bytes: {repeatable: true}",
    ] {
        let site = Site::new();
        let origin = site.origin(rules).await;
        let call = origin.append("late");
        assert!(
            tokio::time::timeout(Duration::from_millis(100), call)
                .await
                .is_err()
        );
        let _worker = site.worker(rules).await;
        tokio::time::sleep(AGAIN).await;
        site.quiet().await;
        assert_eq!(origin.size("late"), None, "{rules}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_no_worker_takes_ends_at_its_deadline_and_commits_nothing_later() {
    let rules = "bytes: {workdir: transactional, limits: {deadlineMs: 200}}";
    let site = Site::new();
    let origin = site.origin(rules).await;
    let result = origin.append("file").await;
    assert_eq!(code(&result), "E_TOOL_TIMEOUT");
    let text = &result.tool_error().unwrap().message;
    assert_eq!(
        text,
        "Tool 'bytes__run' timed out: no worker ended it within 200 ms."
    );
    let worker = site.worker(rules).await;
    tokio::time::sleep(AGAIN).await;
    site.quiet().await;
    assert_eq!(origin.size("file"), None);
    // Others are not concerned.
    assert_eq!(output(&origin.append("file").await)["size"], 1);
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_its_host_has_given_up_does_not_start() {
    let rules = "bytes: {limits: {deadlineMs: 200}}, echo: {readOnly: true}";
    let site = Site::new();
    let origin = site.origin(rules).await;
    let _worker = site.worker(rules).await;
    // What runs once is claimed soon after its deadline at the latest.
    site.carrier.faults.age.store(10, Relaxed);
    assert_eq!(code(&origin.append("file").await), "E_TOOL_TIMEOUT");
    assert_eq!(origin.size("file"), None);
    site.quiet().await;
    let echo = json!({"output": "1"});
    assert_eq!(output(&origin.call("echo__run", echo).await), &json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_than_workers_may_have_are_refused() {
    let site = Site::new();
    let workers = Workers::new(Arc::new(site.carrier.clone())).in_flight(2);
    let origin = site
        .origin_with(site.builder(&policy("")).workers(workers))
        .await;
    let _worker = site.worker("").await;
    let args = json!({"seconds": 0.3});
    let calls = (0..5).map(|number| {
        let call = tool_call_of(&format!("call-{number}"), "sleeper__run", args.clone());
        origin.step.execute_without_message(call)
    });
    let results = futures_util::future::join_all(calls).await;
    let (done, refused): (Vec<_>, Vec<_>) = results
        .iter()
        .partition(|result| result.status() == ToolStatus::Ok);
    assert_eq!((done.len(), refused.len()), (2, 3));
    assert!(
        refused.iter().all(|result| code(result) == "E_TOOL_BUSY"),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_component_of_a_pending_call_is_polled_on_a_worker() {
    let site = Site::new();
    let origin = site.origin("").await;
    let worker = site.worker("").await;
    let result = origin
        .call("later__run", json!({"handle": "done:7", "write": "/began"}))
        .await;
    let handle = result.handle().unwrap().to_owned();
    assert_eq!(origin.size("began"), Some(6));
    let polled = origin.instance.poll(&handle).await;
    assert_eq!(output(&polled), &json!(7));
    assert_eq!(worker.info().ended, 2);

    let result = origin.call("later__run", json!({"handle": "wait"})).await;
    let handle = result.handle().unwrap().to_owned();
    let cancelled = origin.instance.cancel(&handle).await;
    assert_eq!(code(&cancelled), "E_TOOL_CANCELLED");
    assert_eq!(origin.size("cancelled"), Some(4));
    assert_eq!(worker.info().ended, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_gets_the_calls_of_its_policy_bundle_and_labels_alone() {
    let site = Site::new();
    let rules = "echo: {placement: {label: gpu}, limits: {deadlineMs: 300}}";
    let origin = site.origin(rules).await;
    let other = site
        .worker("echo: {placement: {label: gpu}, limits: {deadlineMs: 301}}")
        .await;
    let plain = site.worker(rules).await;
    let echo = json!({"output": "1"});
    assert_eq!(
        code(&origin.call("echo__run", echo.clone()).await),
        "E_TOOL_TIMEOUT"
    );
    let mut config = WorkerConfig::default();
    config.labels = vec!["gpu".to_owned()];
    let labelled = site.worker_with(rules, config.clone()).await;
    assert_eq!(output(&origin.call("echo__run", echo).await), &json!(1));
    assert_eq!((other.info().ended, plain.info().ended), (0, 0));
    // The call that nobody waits for any more is taken, too.
    assert!(labelled.info().ended >= 1);

    let all = WorkerInfo::all(&site.carrier).await.unwrap();
    let mut ids: Vec<_> = all.iter().map(|info| info.worker.clone()).collect();
    let mut expected = [&other, &plain, &labelled].map(|worker| worker.info().worker);
    ids.sort();
    expected.sort();
    assert_eq!(ids, expected);
    assert_eq!(
        all.iter()
            .filter(|info| info.terms == plain.info().terms)
            .count(),
        2
    );

    config.labels = vec!["Big GPU".to_owned()];
    let (_, loaded) = site.load(site.builder(&policy(rules)).as_worker()).await;
    let refused = Worker::start(loaded, Arc::new(site.carrier.clone()), config).await;
    assert!(matches!(refused, Err(WorkerError::Label(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_where_they_are() {
    let site = Site::new();
    let rules = "environment: {env: {TOKEN: {secret: s3cret-of-the-policy}}}";
    let origin = site.origin(rules).await;
    let _worker = site.worker(rules).await;
    let result = origin.call("environment__run", json!({})).await;
    let token = &output(&result)["env"]["TOKEN"];
    assert!(token.is_string(), "{result:?}");
    assert_ne!(token, "s3cret-of-the-policy");
    let sent = site.carrier.sent();
    assert!(
        sent.contains("environment__run") && !sent.contains("s3cret"),
        "{sent}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_outside_of_the_state_root_are_not_on_workers() {
    let site = Site::new();
    let origin = site.origin("").await;
    let _worker = site.worker("").await;
    fs::create_dir(site.path("project")).unwrap();
    let workdir = origin.host.workdir(site.path("project")).unwrap();
    let loaded = origin.host.load(site.path("bundle")).await.unwrap();
    let instance = loaded.only_agent().unwrap().instance("user-2", workdir);
    let turn = instance.open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    let call = tool_call_of("c", "bytes__run", json!({"path": "f", "bytes": 1}));
    let result = step.execute_without_message(call).await;
    assert_eq!(code(&result), "E_HOST");
    let text = &result.tool_error().unwrap().message;
    assert!(text.contains("which is what workers share"), "{text}");
    assert!(fs::read_dir(site.path("project")).unwrap().next().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_places_calls_needs_workers() {
    let site = Site::new();
    let refused = site.builder(&policy("")).build();
    assert!(matches!(refused, Err(HostError::NoWorkers)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_told_to_take_no_more_calls_by_its_id() {
    let site = Site::new();
    let (one, other) = (site.worker("").await, site.worker("").await);
    drain(&site.carrier, &one.info().worker).await.unwrap();
    one.told_to_drain().await;
    assert!(one.info().is_draining && !other.info().is_draining);
    let listed = WorkerInfo::all(&site.carrier).await.unwrap();
    assert_eq!(listed.len(), 2);
    one.drain().await;
    let listed = WorkerInfo::all(&site.carrier).await.unwrap();
    assert_eq!(listed, [other.info()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_drained_ends_its_calls_and_takes_no_more() {
    let site = Site::new();
    let origin = site.origin("").await;
    let worker = site.worker("").await;
    let call = origin.call("sleeper__run", json!({"seconds": 0.5}));
    let (result, ()) = tokio::join!(call, async {
        while worker.info().running == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        worker.drain().await;
    });
    assert_eq!(output(&result)["slept"], 0.5);
    assert!(WorkerInfo::all(&site.carrier).await.unwrap().is_empty());
    let call = origin.append("file");
    assert!(
        tokio::time::timeout(Duration::from_millis(200), call)
            .await
            .is_err()
    );
    assert_eq!((origin.size("file"), worker.info().ended), (None, 1));
}
