//! Measures what `ask` of a policy costs a call that does not wait.

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost::ToolCall;
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use crate::calls::{batch, host};
use crate::measure::{call, median, workdir};

/// Rounds. The policies alternate, so that noise affects each.
const ROUNDS: usize = 61;

pub(crate) fn print(runtime: &Runtime) {
    println!("policies with `ask`, of calls that do not wait");
    let echo = call("echo__say", json!({"text": "hello", "n": 1}));
    let read = call("file-system__read", json!({"path": "a.txt"}));
    let of = |tool: &str, rules: Value| json!({"calls": "off", "tools": {tool: rules}}).to_string();
    let rules =
        json!({"default": "never", "deny": [{"args": {"text": "no*"}}, {"export": "other"}]});
    compare(
        runtime,
        &echo,
        [
            ("echo, without `ask`", of("echo", json!({}))),
            (
                "`ask` for another tool",
                of("file-system", json!({"ask": "always"})),
            ),
            ("rules that allow it", of("echo", json!({"ask": rules}))),
            (
                "`workdir: transactional`",
                of("echo", json!({"workdir": "transactional"})),
            ),
            ("`ask: effects`", of("echo", json!({"ask": "effects"}))),
        ],
    );
    let kept = json!({"workdir": "transactional"});
    compare(
        runtime,
        &read,
        [
            ("read, without `ask`", of("file-system", json!({}))),
            ("`workdir: transactional`", of("file-system", kept)),
            (
                "`ask: effects`",
                of("file-system", json!({"ask": "effects"})),
            ),
            (
                "`ask: {effects: {workdir: false}}`",
                of(
                    "file-system",
                    json!({"ask": {"effects": {"workdir": false}}}),
                ),
            ),
        ],
    );
}

/// Prints the time of a call under the first policy, and how much more it takes under the others.
fn compare<const N: usize>(runtime: &Runtime, call: &ToolCall, policies: [(&str, String); N]) {
    let work = workdir();
    let files = work.path().join("work");
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("a.txt"), "hello\n").unwrap();
    let sandbox = own_sandbox(|_| ());
    let hosts = policies.each_ref().map(|(_, policy)| {
        let state = work.path().join("state");
        host(Some(&state), policy, &sandbox)
    });
    let steps = hosts.each_ref().map(|host| {
        let workdir = host.workdir(&files).unwrap();
        let loaded = runtime.block_on(host.load(root("guest-examples"))).unwrap();
        let agent = loaded.only_agent().unwrap();
        runtime.block_on(open_step(&agent, "bench", &workdir))
    });
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (at, step) in steps.iter().enumerate() {
            times[at].push(runtime.block_on(batch(step, call)));
            runtime.block_on(hosts[at].events().flush());
        }
    }
    let first = &times[0];
    for ((name, _), times) in policies.iter().zip(&times) {
        let pairs = || times.iter().zip(first);
        let more = median(pairs().map(|(time, first)| time - first).collect());
        let ratio = median(pairs().map(|(time, first)| time / first).collect());
        let time = median(times.clone());
        println!("  {name:<36} {time:7.2} µs  {more:+6.2} µs  {ratio:.3} ×");
    }
}
