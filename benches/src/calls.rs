//! Measures what keeping a call costs the call, and the search of a million kept calls.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use toolhost::approvals::Approvers;
use toolhost::calls::{CallLog, CallQuery};
use toolhost::recording::KeptRecordings;
use toolhost::{AssistantMessage, Host, Policy, Step, ToolCall, ToolStatus};
use toolhost_page::{Page, PageConfig};
use toolhost_store::rusqlite::Connection;
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use crate::measure::{call, median, workdir};

/// Rounds. The settings alternate, so that noise affects each.
const ROUNDS: usize = 41;

/// Calls in one round.
const BATCH: u32 = 400;

/// Kept calls that are searched.
const CALLS: u32 = 1_000_000;

/// Calls that are made; the others are copies of them with other times and names.
const MADE: u32 = 1000;

/// Times each search is repeated.
const SEARCHES: usize = 9;

pub(crate) fn print(runtime: &Runtime) {
    println!("past calls");
    cost(runtime);
    searches(runtime);
}

pub(crate) fn host(state: Option<&Path>, policy: &str, sandbox: &toolhost::Sandbox) -> Host {
    let policy = Policy::parse(policy, "policy.yaml").unwrap();
    let builder = Host::builder().sandbox(sandbox.clone()).policy(policy);
    match state {
        Some(state) => builder.state_root(state).build().unwrap(),
        None => builder.build().unwrap(),
    }
}

/// Measures a small call without a state root, with one that keeps no calls, and with one that keeps them.
fn cost(runtime: &Runtime) {
    let work = workdir();
    let [off, on] = ["off", "on"].map(|name| work.path().join(name));
    let files = work.path().join("work");
    std::fs::create_dir(&files).unwrap();
    let sandbox = own_sandbox(|_| ());
    let settings = [
        host(None, "", &sandbox),
        host(Some(&off), "calls: off", &sandbox),
        host(Some(&on), "calls: {bytes: 1GiB}", &sandbox),
    ];
    let steps = settings.each_ref().map(|host| {
        let workdir = host.workdir(&files).unwrap();
        let loaded = runtime.block_on(host.load(root("guest-examples"))).unwrap();
        let agent = loaded.only_agent().unwrap();
        runtime.block_on(open_step(&agent, "bench", &workdir))
    });
    let call = call("echo__say", json!({"text": "hello", "n": 1}));
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for (at, step) in steps.iter().enumerate() {
            times[at].push(runtime.block_on(batch(step, &call)));
            // What is written later is not written during the next one.
            runtime.block_on(settings[at].events().flush());
        }
    }
    let more = |later: &[f64], earlier: &[f64]| {
        let pairs = later.iter().zip(earlier);
        median(pairs.map(|(later, earlier)| later - earlier).collect())
    };
    let [none, off, on] = &times;
    println!(
        "  a call without a state root          {:.2} µs",
        median(none.clone())
    );
    println!(
        "  with one that keeps no calls         {:+.2} µs",
        more(off, none)
    );
    println!(
        "  with one that keeps them, beside it  {:+.2} µs",
        more(on, off)
    );
}

/// Returns the microseconds of a call.
pub(crate) async fn batch(step: &Step, call: &ToolCall) -> f64 {
    let message = AssistantMessage::for_call(call);
    let started = Instant::now();
    for _ in 0..BATCH {
        let result = step.execute(call.clone(), &message).await;
        assert_eq!(result.status(), ToolStatus::Ok);
    }
    (started.elapsed() / BATCH).as_secs_f64() * 1e6
}

/// Makes calls through a host: of 10 tools and 20 instances, of which some fail.
async fn make(state: &Path, files: &Path) {
    let policy = Policy::parse("calls: {bytes: 1TiB, days: 3650}", "policy.yaml").unwrap();
    let host = Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .policy(policy)
        .state_root(state)
        .kept_recordings(KeptRecordings::Failed)
        .build()
        .unwrap();
    let loaded = host.load(root("guest-examples")).await.unwrap();
    let agent = loaded.only_agent().unwrap();
    let workdir = host.workdir(files).unwrap();
    for number in 0..MADE {
        let step = open_step(&agent, &format!("user-{}", number % 20), &workdir).await;
        let name = match number % 10 {
            9 => "no__tool",
            _ => "echo__say",
        };
        if number % 100 == 50 {
            let missing = call("file-system__read", json!({"path": "missing"}));
            step.execute_without_message(missing).await;
        }
        let text = format!("a word{number} among others of the {}th call", number % 7);
        let call = call(name, json!({"text": text, "n": number}));
        step.execute_without_message(call).await;
    }
    host.events().flush().await;
}

/// Doubles the kept calls until there are enough.
fn copy(state: &Path) {
    let database = Connection::open(state.join("calls.db")).unwrap();
    database.pragma_update(None, "synchronous", "OFF").unwrap();
    database
        .pragma_update(None, "cache_size", -1 << 18)
        .unwrap();
    let count = || -> u32 {
        let count = "SELECT count(*) FROM calls";
        database.query_row(count, (), |row| row.get(0)).unwrap()
    };
    loop {
        let have = count();
        let more = have.min(CALLS - have);
        if more == 0 {
            break;
        }
        let copies = format!(
            "BEGIN;
             INSERT INTO calls (id, time, kind, status, tool, code, agent, instance, call, parent)
                 SELECT id + {have}, time - {have}, kind, status, tool, code, agent, instance, call, parent
                 FROM calls WHERE id <= {more};
             INSERT INTO details
                 SELECT id + {have}, duration, agent, instance, turn, step, call, parent, tool, code, message, handle,
                     usage, recording, arguments, output
                 FROM details WHERE id <= {more};
             INSERT INTO texts (rowid, text)
                 SELECT id, concat(d.tool, ' ', d.code, ' ', message, ' ', arguments, ' ', output, ' copy', id,
                     iif(d.code IS NULL, ' hello', concat(' ', char(57344), 'c', c.code)),
                     ' ', char(57344), 't', c.tool, ' ', char(57344), 'a', c.agent,
                     ' ', char(57344), 'i', c.instance, ' ', char(57344), 's', c.status)
                 FROM details d JOIN calls c USING (id) WHERE id > {have};
             COMMIT;"
        );
        database.execute_batch(&copies).unwrap();
    }
    // One call of a tool that no other one calls, among the oldest.
    let rare = "UPDATE calls SET tool = 1 WHERE id = 77";
    database.execute_batch(rare).unwrap();
}

fn searches(runtime: &Runtime) {
    let top = tempfile::tempdir().unwrap();
    let state = top.path().join("state");
    let files = top.path().join("work");
    std::fs::create_dir(&files).unwrap();
    runtime.block_on(make(&state, &files));
    copy(&state);
    let bytes = std::fs::metadata(state.join("calls.db")).unwrap().len();
    println!(
        "  {CALLS} kept calls, {} MB; a page of 100:",
        bytes / 1_000_000
    );
    let opened = Instant::now();
    let log = CallLog::open(&state).unwrap().unwrap();
    println!(
        "    opened in {:.1} ms",
        opened.elapsed().as_secs_f64() * 1e3
    );
    let text = |text: &str| Some(text.to_owned());
    let now = SystemTime::now();
    type Set<'a> = Box<dyn Fn(&mut CallQuery) + 'a>;
    let queries: [(&str, Set<'_>); 15] = [
        ("all", Box::new(|_| ())),
        ("failed", Box::new(|q| q.status = Some(ToolStatus::Error))),
        (
            "one tool (9 of 10)",
            Box::new(|q| q.tool = text("echo__say")),
        ),
        ("a tool never called", Box::new(|q| q.tool = text("x__y"))),
        (
            "an instance (1 of 20)",
            Box::new(|q| q.instance = text("user-3")),
        ),
        (
            "a code",
            Box::new(|q| q.code = text("E_TOOL_NOT_IN_CATALOG")),
        ),
        (
            "failed calls of a tool that never fails",
            Box::new(|q| (q.tool, q.status) = (text("echo__say"), Some(ToolStatus::Error))),
        ),
        (
            "an instance and a code that never meet",
            Box::new(|q| {
                (q.instance, q.code) = (text("user-3"), text("E_TOOL_NOT_IN_CATALOG"));
            }),
        ),
        (
            "the last minute",
            Box::new(|q| q.since = now.checked_sub(Duration::from_secs(60))),
        ),
        (
            "a word of one call",
            Box::new(|q| q.text = text("copy500000")),
        ),
        (
            "a word of every call",
            Box::new(|q| q.text = text("others")),
        ),
        (
            "the begin of a word of every call",
            Box::new(|q| q.text = text("oth")),
        ),
        (
            "a word of every call, and a tool never called",
            Box::new(|q| (q.text, q.tool) = (text("others"), text("x__y"))),
        ),
        (
            "a word of every call, and a code of no such call",
            Box::new(|q| (q.text, q.code) = (text("hello"), text("E_TOOL_NOT_IN_CATALOG"))),
        ),
        (
            "words of many calls, and failed",
            Box::new(|q| (q.text, q.status) = (text("word12 3th"), Some(ToolStatus::Error))),
        ),
    ];
    page(runtime, &state);
    for (since, what) in [(3600, "an hour with all calls"), (300, "five minutes")] {
        let times = (0..SEARCHES).map(|_| {
            let started = Instant::now();
            let since = now.checked_sub(Duration::from_secs(since)).unwrap();
            runtime.block_on(log.stats(since, now)).unwrap();
            started.elapsed().as_secs_f64() * 1e3
        });
        println!(
            "    charts of {what:<32} {:>7.2} ms",
            median(times.collect())
        );
    }
    for (what, set) in &queries {
        let mut query = CallQuery::default();
        set(&mut query);
        let mut found = 0;
        let mut times = Vec::new();
        for _ in 0..SEARCHES {
            let started = Instant::now();
            let page = runtime.block_on(log.search(query.clone())).unwrap();
            times.push(started.elapsed().as_secs_f64() * 1e3);
            found = page.calls.len();
        }
        let first = times[0];
        let slowest = times.iter().copied().fold(0.0, f64::max);
        println!(
            "    {what:<42} {:>7.2} ms (first {first:.1}, slowest {slowest:.1}), {found} found",
            median(times)
        );
    }
}

/// Measures the three clicks from the page to the steps of a call that failed: what its server answers to each.
fn page(runtime: &Runtime, state: &Path) {
    let viewers = Approvers::new([("bench".to_owned(), "bench".to_owned())]);
    let page = Page::new(PageConfig::new(viewers).state_root(state));
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(toolhost_page::serve(listener, page));
        let get = async |path: &str| {
            let started = Instant::now();
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!(
                "GET /{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bench\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            let body = answer.split_once("\r\n\r\n").unwrap().1;
            let json: serde_json::Value = serde_json::from_str(body).unwrap();
            (json, started.elapsed().as_secs_f64() * 1e3)
        };
        let (failed, first) = get("api/calls?status=error&code=NOT_FOUND").await;
        let id = &failed["calls"][0]["id"];
        let (call, second) = get(&format!("api/calls/{id}")).await;
        let (steps, third) = get(&format!("api/calls/{id}/steps")).await;
        let (count, total) = (&call["recording"]["steps"], &steps["total"]);
        assert_eq!(count, total);
        println!(
            "    the page's server: failed calls {first:.1} ms, one of them {second:.1} ms, its {total} steps {third:.1} ms"
        );
        in_browser(format!("http://{address}/#token=bench")).await;
        serving.abort();
    });
}

/// Measures the same clicks in the browser that `cargo xtask test` installs, if TOOLHOST_NPM_TOOLS names its folder.
#[expect(
    clippy::disallowed_methods,
    reason = "where the browser is stands in the environment, as for the tests of the page"
)]
async fn in_browser(address: String) {
    let Some(tools) = std::env::var_os("TOOLHOST_NPM_TOOLS") else {
        return;
    };
    let mut node = Command::new(Path::new(&tools).join("node"));
    node.arg(root("benches/watch/clicks.mjs")).arg(address);
    let ran = tokio::task::spawn_blocking(move || node.output()).await;
    let ran = ran.unwrap().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    print!("{}", String::from_utf8(ran.stdout).unwrap());
}
