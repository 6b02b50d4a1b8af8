//! SIGKILL while a call of a transactional call runs: the next host finds all of its changes or none.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost::{Host, Policy, ToolStatus};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{code, open_step, tool_call};

use super::host_process::{HostProcess, bundle};

const POLICY: &str = "tools: {caller: {tools: ['*'], workdir: transactional}}";

/// Calls that the killed call makes.
const CALLS: usize = 6;

/// The arguments of a call that makes calls, each of which writes a file. The one of this number runs on.
fn calls(running: Option<usize>) -> Value {
    let call = |number: usize| {
        let write = json!({"do": "write", "path": format!("f{number}"), "text": "x"});
        let spin = (running == Some(number)).then(|| json!({"do": "spin"}));
        let steps: Vec<Value> = [write].into_iter().chain(spin).collect();
        json!({"do": "call", "tool": "other__run", "args": {"steps": steps}})
    };
    json!({"steps": (0..CALLS).map(call).collect::<Vec<_>>()})
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

/// Returns the files that a transaction has staged.
fn staged(state: &Path) -> usize {
    let staging = state.join("staging");
    let files = |dir: &String| {
        let names = names(&staging.join(dir));
        names.iter().filter(|name| name.starts_with('f')).count()
    };
    names(&staging).iter().map(files).sum()
}

/// A host that was killed: its directories, and the handle of the call that it ran.
struct Killed {
    top: tempfile::TempDir,
    handle: String,
}

impl Killed {
    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    /// Kills a host within the call of this number; without one, after some time.
    fn within(call: Option<usize>, after: Duration) -> Self {
        let mut killed = Self {
            top: tempfile::tempdir().unwrap(),
            handle: String::new(),
        };
        let [state, work, tools] = ["state", "work", "bundle"].map(|name| killed.path(name));
        fs::create_dir(&work).unwrap();
        let run = &["run"] as &[&str];
        bundle(
            &tools,
            &[("caller", "call_tools", run), ("other", "call_tools", run)],
        );
        let mut host = HostProcess::after("true");
        host.must(json!({"op": "start", "state": state, "policy": POLICY}));
        host.must(json!({"op": "load", "bundle": tools, "work": work}));
        let submit = json!({"op": "submit", "tool": "caller__run", "args": calls(call)});
        let submitted = host.must(submit);
        killed.handle = submitted["result"]["handle"].as_str().unwrap().to_owned();
        let started = Instant::now();
        let is_time = || call.map_or(started.elapsed() >= after, |call| staged(&state) > call);
        while !is_time() {
            assert!(started.elapsed() < Duration::from_secs(20), "{call:?}");
            thread::sleep(Duration::from_millis(1));
        }
        drop(host);
        killed
    }

    /// Starts a host on the same state root, and returns the files that it finds.
    async fn survivors(&self) -> Vec<String> {
        let [state, work] = ["state", "work"].map(|name| self.path(name));
        let policy = Policy::parse(POLICY, "policy.yaml").unwrap();
        let host = Host::builder().sandbox(sandbox()).policy(policy);
        let host = host.state_root(&state).build().unwrap();
        let survivors = names(&work);
        // Of a commit, the undo record stays.
        let is_clean = survivors.len() == CALLS || staged(&state) == 0;
        assert!(is_clean, "{survivors:?}");
        let agent = host.load(self.path("bundle")).await.unwrap();
        let agent = agent.only_agent().unwrap();
        let workdir = host.workdir(&work).unwrap();
        let instance = agent.instance("instance", workdir.clone());
        let result = instance.poll(&self.handle).await;
        let is_kept = result.status() == ToolStatus::Ok && survivors.len() == CALLS;
        assert!(
            is_kept || code(&result) == "E_TOOL_INTERRUPTED",
            "{result:?}"
        );
        // The lock of the process that died is gone.
        assert_eq!(names(&state.join("runs")).len(), 1);
        // The same call can be made.
        let step = open_step(&agent, "instance", &workdir).await;
        let call = tool_call("caller__run", calls(None));
        let result = step.execute_without_message(call).await;
        assert_eq!(result.tool_error(), None);
        assert_eq!(names(&work).len(), CALLS);
        survivors
    }
}

#[tokio::test]
async fn a_host_that_is_killed_within_any_call_of_a_call_leaves_nothing_of_it() {
    let kill = |call| thread::spawn(move || Killed::within(Some(call), Duration::ZERO));
    let kills: Vec<_> = (0..CALLS).map(kill).collect();
    for kill in kills {
        assert_eq!(kill.join().unwrap().survivors().await, [""; 0]);
    }
}

#[tokio::test]
async fn a_host_that_is_killed_while_a_call_ends_leaves_all_of_its_calls_or_none() {
    let kill = |number: u64| {
        let after = Duration::from_millis(4 * number);
        thread::spawn(move || Killed::within(None, after))
    };
    let kills: Vec<_> = (0..6).map(kill).collect();
    for kill in kills {
        let survivors = kill.join().unwrap().survivors().await.len();
        assert!(survivors == 0 || survivors == CALLS, "{survivors}");
    }
}
