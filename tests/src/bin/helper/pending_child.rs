//! Submits calls, prints their handles, and waits until it is killed.
//!
//! `helper pending-child STATE_ROOT BUNDLE WORKDIR CALLS`: one line on stdout for each handle, then `ready`.
//! Every second call appends a byte to its own file; the others sleep endlessly.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program of the tests: what cannot go on fails loudly"
)]

use std::io::Write;

use serde_json::json;
use toolhost::{AssistantMessage, Host};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{open_step, tool_call_of};

#[tokio::main]
pub(crate) async fn run(arguments: Vec<String>) {
    let [state, bundle, work, calls] = <[String; 4]>::try_from(arguments).expect("four arguments");
    let calls: u32 = calls.parse().expect("a number of calls");
    let host = Host::builder().sandbox(sandbox()).state_root(state).build();
    let host = host.expect("the host starts");
    let loaded = host.load(bundle).await.expect("the bundle loads");
    let agent = loaded.only_agent().expect("there is one agent");
    let workdir = host.workdir(work).expect("the workdir opens");
    let step = open_step(&agent, "instance", &workdir).await;
    for number in 0..calls {
        let call = if number % 2 == 0 {
            let args = json!({"path": format!("/{number}"), "bytes": 1, "mode": "append"});
            tool_call_of(&format!("call-{number}"), "write__run", args)
        } else {
            tool_call_of(&format!("call-{number}"), "sleep__run", json!({}))
        };
        let message = AssistantMessage::for_call(&call);
        let result = step.submit(call, &message).await;
        println!("{}", result.handle().expect("it is pending"));
    }
    println!("ready");
    std::io::stdout().flush().expect("stdout is read");
    std::future::pending::<()>().await;
}
