use std::fs;
use std::time::Instant;

use toolhost::Host;

use super::*;
use crate::event_logs::EventLogs;
use crate::state_dirs::StateDirs;
use crate::terminal::{ColorChoice, Style, Verbosity};
use crate::toolchains::TargetDir;

/// Longest wait for a reload.
const SOON: Duration = Duration::from_secs(10);

fn manifest(description: &str) -> String {
    format!(
        "{{apiVersion: goondan.ai/v1, kind: Tool, metadata: {{name: echo}}, \
         spec: {{entry: ./echo.wasm, exports: [{{name: say, description: {description}}}]}}}}"
    )
}

fn settings() -> Arc<Settings> {
    Arc::new(Settings {
        ca_file: None,
        dirs: StateDirs {
            state_root: None,
            cache: None,
            docker_config: None,
            home: None,
        },
        verbosity: Verbosity::Quiet,
        style: Style::of_stderr(ColorChoice::Never),
        stdout_style: Style::of_stdout(ColorChoice::Never),
        target_dir: TargetDir::Cache,
        base: Arc::default(),
        event_logs: EventLogs::default(),
    })
}

fn description(live: &LiveBundle) -> String {
    let agent = live.current().only_agent().unwrap();
    let item = agent.catalog().get("echo__say").cloned().unwrap();
    item.description.unwrap()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < SOON, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_bundle_and_the_policy_are_loaded_again_when_their_files_change() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests/echo.wasm");
    fs::copy(guest, path("echo.wasm")).unwrap();
    fs::write(path("goondan.yaml"), manifest("one")).unwrap();
    fs::write(path("token"), "first-token").unwrap();
    let policy = "tools: {echo: {env: {TOKEN: {fromFile: token}}}}";
    fs::write(path("policy.yaml"), policy).unwrap();

    let policy = PolicyChoice::new(Some(&path("policy.yaml")), None);
    let mut watch = Watch::new(dir.path(), &policy, &settings()).unwrap();
    let read = policy.read().await.unwrap();
    let host = Host::builder().policy(read.policy).build().unwrap();
    let live = LiveBundle::new(host.load(dir.path()).await.unwrap());
    watch.files.set_also([path("policy.yaml"), path("token")]);
    let reloading = tokio::spawn(watch.reload(live.clone(), settings()));

    fs::write(path("goondan.yaml"), manifest("two")).unwrap();
    until("the manifest is read", || description(&live) == "two").await;
    // A bad change leaves the bundle, and a good one is still noticed after it.
    fs::write(path("goondan.yaml"), "kind: [").unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(description(&live), "two");
    fs::write(path("policy.yaml"), "tools: [").unwrap();
    fs::write(path("goondan.yaml"), manifest("three")).unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(description(&live), "two", "the policy cannot be used");
    fs::write(path("policy.yaml"), "locale: ko").unwrap();
    until("all is good again", || description(&live) == "three").await;
    reloading.abort();
}

#[tokio::test]
async fn a_policy_names_the_files_of_its_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("token"), "secret-of-the-test").unwrap();
    fs::write(
        path("policy.yaml"),
        "tools: {echo: {env: {TOKEN: {fromFile: token}}}}",
    )
    .unwrap();
    let read = PolicyFile::read(Some(&path("policy.yaml"))).await.unwrap();
    assert_eq!(read.secret_files, [path("token")]);
}

#[test]
fn a_reason_is_reported_once() {
    let mut reported = None;
    assert!(!is_reported(&mut reported, "a".into()));
    assert!(is_reported(&mut reported, "a".into()));
    assert!(!is_reported(&mut reported, "b".into()));
    assert!(!is_reported(&mut reported, "a".into()));
}
