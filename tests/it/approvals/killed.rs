//! SIGKILL at any time of calls that wait and are released: nothing unapproved happens, nothing twice, nothing is lost.
//!
//! A host is killed, and the next one goes on with what it left, and makes more calls. `TOOLHOST_KILLS` says how many hosts
//! are killed for each kind of call; `TMPDIR=/dev/shm` makes them cheaper:
//!
//! ```sh
//! TOOLHOST_KILLS=1500 TMPDIR=/dev/shm cargo nextest run -p toolhost-tests --test it -E 'test(approvals::killed)' --no-capture
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost::approvals::{Approval, ApprovalState, Approvals};
use toolhost_tests::test_host::TestTool;

use super::Site;
use crate::http::server::{Server, ok};
use crate::system_failures::host_process::HostProcess;

/// Calls that each host makes beside those that it goes on with.
const CALLS: usize = 3;

/// Hosts that are killed in one state root.
const HOSTS: u64 = 25;

const FILES: TestTool<'_> = ("files", "file-system", &["write"]);
const WEB: TestTool<'_> = ("web", "fetch", &["run"]);
const CALLER: TestTool<'_> = ("caller", "call_tools", &["run"]);

/// How many hosts are killed for each kind of call.
fn kills() -> u64 {
    let number = std::env::var("TOOLHOST_KILLS").ok();
    number.and_then(|text| text.parse().ok()).unwrap_or(12)
}

/// A number below `most`.
fn random(most: u64) -> u64 {
    RandomState::new().hash_one(0) % most.max(1)
}

/// A time below `most`: each power of two is as likely as another.
fn log_random(most: Duration) -> Duration {
    let most = u64::try_from(most.as_nanos()).unwrap().max(2);
    let bits = random(u64::from(most.ilog2()) + 1);
    Duration::from_nanos(random((2 << bits).min(most)))
}

/// Returns the tool and the arguments of the call with an id, which shows in all that it does.
type CallOf = Box<dyn Fn(&str) -> (&'static str, Value)>;

/// A kind of call that waits.
struct Kind {
    tools: Vec<TestTool<'static>>,
    policy: Value,
    call: CallOf,
    /// What the call does.
    effects: Vec<Effect>,
    /// Whether what waits is another call, within it: the program learns that it was denied, and goes on.
    is_program: bool,
}

/// What a call does.
enum Effect {
    /// Writes a file whose name is the id after this.
    File(&'static str),
    Request,
    Message,
}

fn write_file(path: &str) -> Value {
    json!({"path": path, "content": "new\n"})
}

fn kind_of(name: &str, origin: &str) -> Kind {
    let web = json!({"http": {"allow": [format!("{origin}/*")]}, "ask": "effects"});
    let url = format!("{origin}/");
    let send = move |id: &str| json!({"url": format!("{url}{id}"), "method": "POST", "body": "b"});
    let written = |id: &str| write_file(&format!("a{id}"));
    let (tools, policy, call, effects): (_, _, CallOf, _) = match name {
        "staged changes" => (
            vec![FILES],
            json!({"files": {"ask": "effects"}}),
            Box::new(move |id| ("files__write", written(id))),
            vec![Effect::File("a")],
        ),
        "a call before it runs" => (
            vec![FILES],
            json!({"files": {"ask": "always"}}),
            Box::new(move |id| ("files__write", written(id))),
            vec![Effect::File("a")],
        ),
        "a request" => (
            vec![WEB],
            json!({ "web": web }),
            Box::new(move |id| ("web__run", send(id))),
            vec![Effect::Request],
        ),
        "a message" => (
            vec![("ask", "ask_agents", &["run"])],
            json!({"ask": {"agents": true, "ask": "effects"}}),
            Box::new(|id| {
                let args = json!({"do": "request", "target": "sink", "input": id});
                ("ask__run", args)
            }),
            vec![Effect::Message],
        ),
        "the changes of a program" => (
            vec![FILES, CALLER],
            json!({
                "caller": {"tools": ["*"], "workdir": "transactional"},
                "files": {"ask": "effects"},
            }),
            Box::new(|id| {
                let written = ["a", "b"].map(|name| {
                    let args = write_file(&format!("{name}{id}"));
                    json!({"do": "call", "tool": "files__write", "args": args})
                });
                ("caller__run", json!({ "steps": written }))
            }),
            vec![Effect::File("a"), Effect::File("b")],
        ),
        "within a program" => (
            vec![FILES, WEB, CALLER],
            json!({"caller": {"tools": ["*"]}, "files": {"ask": "effects"}, "web": web}),
            Box::new(move |id| {
                let steps = json!([
                    {"do": "call", "tool": "files__write", "args": written(id)},
                    {"do": "call", "tool": "web__run", "args": send(id)},
                ]);
                ("caller__run", json!({ "steps": steps }))
            }),
            vec![Effect::File("a"), Effect::Request],
        ),
        "a component that answers later" => (
            vec![("later", "pending", &["run"])],
            json!({"later": {"ask": "effects"}}),
            Box::new(|id| {
                let args = json!({"write": format!("a{id}"), "handle": format!("write:b{id}")});
                ("later__run", args)
            }),
            vec![Effect::File("a"), Effect::File("b")],
        ),
        unknown => panic!("{unknown}"),
    };
    Kind {
        tools,
        policy: json!({ "tools": policy }),
        call,
        effects,
        is_program: name == "within a program",
    }
}

/// A call that was made.
#[derive(Debug, Default)]
struct Call {
    id: String,
    handle: Option<String>,
    is_denied: bool,
    /// Whether somebody decided, or was about to.
    is_decided: bool,
    /// `ok`, or the code of its error.
    end: Option<String>,
    /// What it did last.
    did: String,
    /// Whether it is one of the host that runs.
    is_running: bool,
}

/// The calls of one state root.
struct Round<'k> {
    kind: &'k Kind,
    site: Site,
    doors: Approvals,
    calls: Vec<Call>,
    /// How often each path was asked for.
    requests: Arc<Mutex<HashMap<String, usize>>>,
    seen: BTreeMap<String, u64>,
}

impl Round<'_> {
    fn new<'k>(kind: &'k Kind, requests: &Arc<Mutex<HashMap<String, usize>>>) -> Round<'k> {
        let site = Site::of(&kind.tools);
        Round {
            kind,
            doors: Approvals::open(&site.path("state")).unwrap(),
            site,
            calls: Vec::new(),
            requests: Arc::clone(requests),
            seen: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: &str) {
        *self.seen.entry(what.to_owned()).or_default() += 1;
    }

    /// Starts a host, and kills it while it starts if that takes longer.
    fn start(&self, most: Option<Duration>) -> Option<HostProcess> {
        let mut host = HostProcess::after("true");
        let state = self.site.path("state");
        host.post(&json!({"op": "start", "state": state, "policy": self.kind.policy.to_string()}));
        let paths = [self.site.path("bundle"), self.site.path("work")];
        host.post(&json!({"op": "load", "bundle": paths[0], "work": paths[1]}));
        if let Some(most) = most {
            sleep(most);
            return None;
        }
        for _ in ["start", "load"] {
            assert_eq!(host.next(), json!("done"));
        }
        Some(host)
    }

    /// Goes on with the calls that have not ended, and makes more.
    fn begin(&mut self, host: &mut HostProcess, more: usize) {
        for _ in 0..more {
            self.calls.push(Call {
                id: format!("-{}-{}-", self.calls.len(), random(1 << 40)),
                is_denied: random(8) == 0,
                ..Call::default()
            });
        }
        for call in &mut self.calls {
            call.is_running = call.end.is_none() && (call.handle.is_some() || call.did.is_empty());
        }
        let is_last = more == 0;
        let calls = self.calls.iter().filter(|call| call.is_running);
        let calls: Vec<Value> = calls
            .map(|call| {
                let (tool, args) = (self.kind.call)(&call.id);
                // Nobody else decides about what a program waits for.
                let decides = is_last || self.kind.is_program || random(4) > 0;
                let decides = decides.then_some(if call.is_denied { "deny" } else { "approve" });
                json!({
                    "id": call.id, "tool": tool, "args": args, "handle": call.handle, "decides": decides,
                    "submit": self.kind.is_program || random(3) == 0,
                })
            })
            .collect();
        let state = self.site.path("state");
        let agents = matches!(self.kind.effects[..], [Effect::Message])
            .then(|| json!({"state": state, "log": self.site.path("log")}));
        host.post(&json!({"op": "hold", "calls": calls, "agents": agents}));
    }

    /// Notes what a host did.
    fn note(&mut self, line: &Value) {
        let Some(call) = self.calls.iter_mut().find(|call| line["id"] == *call.id) else {
            return;
        };
        let more = line["more"].as_str().map(str::to_owned);
        call.did = line["did"].as_str().unwrap().to_owned();
        match &*call.did {
            "waits" => call.handle = more,
            "decides" => call.is_decided = true,
            "ended" => {
                let end = more.unwrap();
                assert!(call.end.is_none(), "{call:?}");
                call.end = Some(end);
            }
            _ => {}
        }
    }

    /// How often each effect of a call happened.
    fn effects(&self, id: &str) -> Vec<usize> {
        let of = |effect: &Effect| match effect {
            Effect::File(name) => usize::from(self.site.work(&format!("{name}{id}")).is_some()),
            Effect::Request => {
                let requests = self.requests.lock().unwrap();
                requests.get(&format!("/{id}")).copied().unwrap_or_default()
            }
            // An event whose turn was killed is given to its agent again: that is the same message.
            Effect::Message => {
                let log = fs::read_to_string(self.site.path("log")).unwrap_or_default();
                let events = log.lines().filter(|line| line.contains(id));
                let ids: HashSet<&str> = events.filter_map(|it| it.split(' ').next()).collect();
                ids.len()
            }
        };
        self.kind.effects.iter().map(of).collect()
    }

    /// Checks all calls, and decides about some that wait.
    async fn check(&mut self) {
        let rows = self.doors.all().await.unwrap();
        let approvals: Vec<(&Approval, String)> =
            rows.iter().map(|row| (row, row.what.to_string())).collect();
        for index in 0..self.calls.len() {
            let call = &self.calls[index];
            let shows = |(_, what): &&(&Approval, String)| what.contains(&call.id);
            let own: Vec<&Approval> = approvals
                .iter()
                .filter(shows)
                .map(|(row, _)| *row)
                .collect();
            let effects = self.effects(&call.id);
            let approved = own
                .iter()
                .filter(|row| row.state == ApprovalState::Approved);
            // Each is done by an approval of its own, but for the changes of a program or a call, which are one.
            let is_one = !self.kind.is_program;
            let least = if is_one { 1 } else { effects.iter().sum() };
            if effects.iter().any(|times| *times > 0) {
                assert!(
                    call.is_decided && approved.count() >= least,
                    "{call:?} {own:?}"
                );
            }
            assert!(
                effects.iter().all(|times| *times <= 1),
                "{effects:?} {call:?}"
            );
            let none = effects.iter().all(|times| *times == 0);
            assert!(none || !call.is_denied, "{call:?}");
            match call.end.as_deref() {
                Some("ok") if call.is_denied => assert!(self.kind.is_program, "{call:?}"),
                Some("ok") => assert!(
                    effects.iter().all(|times| *times == 1),
                    "{effects:?} {call:?}"
                ),
                Some("E_TOOL_APPROVAL_DENIED") => assert!(call.is_denied && none, "{call:?}"),
                Some("E_TOOL_INTERRUPTED") | None => {}
                Some(_) => panic!("{call:?} {own:#?}"),
            }
            // Who made the call may have been killed before it got the handle.
            if call.handle.is_none() && !self.kind.is_program {
                let handle = own.first().map(|row| row.handle.clone());
                self.calls[index].handle = handle;
            }
            let call = &mut self.calls[index];
            for row in own {
                if row.state == ApprovalState::Waiting && random(2) == 0 {
                    call.is_decided = true;
                    let doors = &self.doors;
                    let decided = if call.is_denied {
                        doors.deny(&row.id, "bob", None).await
                    } else {
                        doors.approve(&row.id, "bob", None).await
                    };
                    decided.unwrap();
                }
            }
        }
    }

    /// Returns what a staging directory has, with the calls that its list names and their approvals.
    fn left(&self, id: &str, rows: &[Approval]) -> String {
        let path = self.site.path("state/staging").join(id);
        let text = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
        let (list, journal) = (text("held"), text("journal"));
        let calls = self.calls.iter().filter(|call| list.contains(&call.id));
        let calls: Vec<_> = calls.collect();
        let is_of = |row: &&Approval| {
            let handles = calls.iter().filter_map(|call| call.handle.as_ref());
            handles.into_iter().any(|handle| *handle == row.handle)
        };
        let rows: Vec<_> = rows.iter().filter(is_of).collect();
        format!(
            "{:?} {calls:?} {list} {journal} {rows:?}",
            super::names(&path)
        )
    }

    /// Ends all calls with a host that is not killed.
    async fn end(&mut self) {
        let mut host = self.start(None).unwrap();
        self.begin(&mut host, 0);
        loop {
            let line = host.next();
            if line == "done" {
                break;
            }
            self.note(&line);
        }
        self.check().await;
        for index in 0..self.calls.len() {
            let Call { handle, end, .. } = &self.calls[index];
            let Some(handle) = handle else {
                self.count("never waited");
                continue;
            };
            // Its result is kept.
            let polled = host.must(json!({"op": "poll", "handle": handle}))["result"].clone();
            let code = polled["error"]["code"].as_str();
            assert_eq!(end.as_deref(), Some(code.unwrap_or("ok")), "{polled}");
            let end = end.clone().unwrap();
            self.count(if end == "ok" { "done" } else { &end });
        }
        // What nobody waits for is removed.
        let begun = Instant::now();
        while !self.site.held_ids().is_empty() {
            if begun.elapsed() > Duration::from_secs(10) {
                let rows = self.doors.all().await.unwrap();
                let left = self.site.held_ids();
                let left: Vec<_> = left.iter().map(|id| self.left(id, &rows)).collect();
                panic!("{left:#?}");
            }
            sleep(Duration::from_millis(5));
        }
        drop(host);
        let waiting = self.doors.waiting().await.unwrap();
        assert!(waiting.is_empty(), "{waiting:?}");
        let rows = self.doors.all().await.unwrap().len() as u64;
        *self.seen.entry("approvals".to_owned()).or_default() += rows;
    }

    /// Kills a host: while it starts, after a while, or once it has printed so many lines.
    fn kill(&mut self, (begun, works, lines): (Duration, Duration, u64)) {
        let spread = random(16);
        if spread == 0 {
            let starts = Duration::from_nanos(random(begun.as_nanos() as u64));
            assert!(self.start(Some(starts)).is_none());
            return self.count("killed: starts");
        }
        let mut host = self.start(None).unwrap();
        self.begin(&mut host, CALLS);
        let line = host.next();
        assert_eq!(line["did"], "begun", "{line}");
        if spread < 8 {
            for _ in 0..random(lines + 1) {
                let line = host.next();
                if line == "done" {
                    break;
                }
                self.note(&line);
            }
            sleep(log_random(Duration::from_millis(2)));
        } else if spread < 12 {
            sleep(Duration::from_nanos(random(works.as_nanos() as u64)));
        } else {
            sleep(log_random(works));
        }
        for line in host.kill() {
            self.note(&line);
        }
        let open = self
            .calls
            .iter()
            .filter(|call| call.is_running && call.end.is_none() && !call.did.is_empty());
        let states: Vec<String> = open.map(|call| format!("killed: {}", call.did)).collect();
        states.iter().for_each(|state| self.count(state));
    }

    /// Returns how long a host takes to start, and then to do its calls, and how many lines it prints.
    fn measure(&mut self) -> (Duration, Duration, u64) {
        let begun = Instant::now();
        let mut host = self.start(None).unwrap();
        let started = begun.elapsed();
        self.begin(&mut host, CALLS);
        let (begun, mut lines) = (Instant::now(), 0);
        loop {
            let line = host.next();
            if line == "done" {
                return (started, begun.elapsed(), lines);
            }
            self.note(&line);
            lines += 1;
        }
    }
}

/// Kills hosts that hold and release calls of a kind.
async fn kill_all(name: &str) {
    let requests: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let counted = Arc::clone(&requests);
    let server = Server::does(move |request, stream| {
        // A host that is killed while it sends a request has not sent it.
        if let Some(path) = request.split(' ').nth(1) {
            *counted.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        }
        drop(stream.write_all(ok("sent").as_bytes()));
    });
    let kind = kind_of(name, &server.origin());
    let (mut seen, mut left) = (BTreeMap::<String, u64>::new(), kills());
    let begun = Instant::now();
    while left > 0 {
        let mut round = Round::new(&kind, &requests);
        let times = round.measure();
        round.check().await;
        for _ in 0..left.min(HOSTS) {
            round.kill(times);
            round.check().await;
        }
        left -= left.min(HOSTS);
        round.end().await;
        for (what, times) in round.seen {
            *seen.entry(what).or_default() += times;
        }
    }
    let millis = begun.elapsed().as_millis() as u64 / kills();
    eprintln!(
        "{name}: {} hosts killed, {millis} ms each: {seen:?}",
        kills()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn staged_changes_survive_kills() {
    kill_all("staged changes").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_before_it_runs_survives_kills() {
    kill_all("a call before it runs").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_request_survives_kills() {
    kill_all("a request").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_message_survives_kills() {
    kill_all("a message").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_changes_of_a_program_survive_kills() {
    kill_all("the changes of a program").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_within_a_program_survives_kills() {
    kill_all("within a program").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_answers_later_survives_kills() {
    kill_all("a component that answers later").await;
}
