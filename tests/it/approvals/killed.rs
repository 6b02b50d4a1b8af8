//! SIGKILL at any time of calls that wait and are released: nothing unapproved happens, nothing twice, nothing is lost.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use serde_json::{Value, json};
use toolhost::ToolStatus;
use toolhost::approvals::{ApprovalState, Approvals};
use toolhost_tests::test_host::code;

use super::{Site, names, write};
use crate::http::server::{Server, ok};
use crate::system_failures::host_process::HostProcess;

/// How many hosts are killed for each kind of call. `TOOLHOST_KILLS` says another number.
fn kills() -> u64 {
    let asked = std::env::var("TOOLHOST_KILLS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(12)
}

/// A time, short or long.
fn pause() -> Duration {
    Duration::from_micros(random(1 << random(18)))
}

/// A number below `most`.
fn random(most: u64) -> u64 {
    RandomState::new().build_hasher().finish() % most
}

/// A kind of call that waits.
struct Kind {
    policy: String,
    tool: &'static str,
    args: Value,
    /// What the call changes.
    file: Option<&'static str>,
}

fn kinds(server: &Server) -> [Kind; 4] {
    let origin = server.origin();
    let url = format!("{origin}/send");
    let tools = |tools: Value| json!({"tools": tools}).to_string();
    [
        Kind {
            policy: tools(json!({"files": {"ask": "effects"}})),
            tool: "files__write",
            args: write("a.txt"),
            file: Some("a.txt"),
        },
        Kind {
            policy: tools(json!({"files": {"ask": "always"}})),
            tool: "files__write",
            args: write("a.txt"),
            file: Some("a.txt"),
        },
        Kind {
            policy: tools(
                json!({"web": {"http": {"allow": [format!("{origin}/*")]}, "ask": "effects"}}),
            ),
            tool: "web__run",
            args: json!({"url": url, "method": "POST", "body": "b"}),
            file: None,
        },
        Kind {
            policy: tools(json!({
                "caller": {"tools": ["*"], "workdir": "transactional"}, "files": {"ask": "effects"},
            })),
            tool: "caller__run",
            args: json!({"steps": [
                {"do": "call", "tool": "files__write", "args": write("a.txt")},
                {"do": "call", "tool": "files__write", "args": write("b.txt")},
            ]}),
            file: Some("b.txt"),
        },
    ]
}

/// Kills hosts that hold and release one call each.
async fn kill_all(kind: usize) {
    let server =
        Server::does(|_, stream| drop(std::io::Write::write_all(stream, ok("sent").as_bytes())));
    let (mut done, mut interrupted, mut again) = (0, 0, 0);
    let kind = &kinds(&server)[kind];
    for round in 0..kills() {
        let site = Site::new();
        let before = server.accepted();
        let effects = || match kind.file {
            Some(file) => usize::from(site.work(file).is_some()),
            None => server.accepted() - before,
        };
        let mut host = HostProcess::after("true");
        host.must(json!({"op": "start", "state": site.path("state"), "policy": kind.policy}));
        host.must(json!({"op": "load", "bundle": site.path("bundle"), "work": site.path("work")}));
        let call = json!({"op": "call", "tool": kind.tool, "args": kind.args});
        // Half of them are killed while the call comes to be held.
        let (handle, is_held) = if round % 2 == 0 {
            host.post(&call);
            std::thread::sleep(pause());
            drop(host);
            let doors = Approvals::open(&site.path("state")).unwrap();
            let waiting = doors.waiting().await.unwrap();
            assert_eq!(effects(), 0);
            assert!(site.staged().len() <= 1);
            // It is there, or never was: no staged file is left behind.
            let running = site.start(&kind.policy).await;
            running.host.completions().await.unwrap();
            for _ in 0..400 {
                if site.staged().len()
                    == waiting
                        .iter()
                        .filter(|it| it.effect.as_str() == "workdir")
                        .count()
                {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert!(
                !waiting.is_empty() || site.staged().is_empty(),
                "{:?}",
                site.staged()
            );
            (None::<String>, !waiting.is_empty())
        } else {
            let held = host.must(call)["result"].clone();
            assert_eq!(held["details"]["reason"], "awaiting-approval", "{held}");
            let handle = held["handle"].as_str().unwrap().to_owned();
            let doors = Approvals::open(&site.path("state")).unwrap();
            let id = doors.waiting().await.unwrap()[0].id.clone();
            assert_eq!(effects(), 0);
            // Before it is decided, or while it is released.
            let is_decided = random(8) > 0;
            if is_decided {
                doors.approve(&id, "alice", None).await.unwrap();
            }
            host.post(&json!({"op": "poll", "handle": handle}));
            std::thread::sleep(pause());
            drop(host);
            if !is_decided {
                assert_eq!(effects(), 0);
                assert_eq!(doors.get(&id).await.unwrap().state, ApprovalState::Waiting);
                doors.approve(&id, "alice", None).await.unwrap();
            }
            (Some(handle), true)
        };
        if !is_held {
            continue;
        }
        let Some(handle) = handle else {
            let doors = Approvals::open(&site.path("state")).unwrap();
            let waiting = doors.waiting().await.unwrap();
            doors.deny(&waiting[0].id, "alice", None).await.unwrap();
            assert_eq!((effects(), site.staged().len()), (0, 0));
            continue;
        };
        let next = site.start(&kind.policy).await;
        let mut result = next.instance.poll(&handle).await;
        for _ in 0..400 {
            // What was taken back has other times: it is asked for again.
            if result.awaits_approval().is_some()
                && let Some(one) = next.approvals().waiting().await.unwrap().first()
            {
                again += 1;
                assert_eq!(effects(), 0);
                next.approvals()
                    .approve(&one.id, "alice", None)
                    .await
                    .unwrap();
            }
            if result.status() != ToolStatus::Pending {
                break;
            }
            result = next.instance.poll(&handle).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        match result.status() {
            ToolStatus::Ok => {
                done += 1;
                assert_eq!(effects(), 1, "{result:?}");
            }
            // Nobody knows how far it came: that is said, and it is not done again.
            ToolStatus::Error | ToolStatus::Pending => {
                interrupted += 1;
                assert_eq!(code(&result), "E_TOOL_INTERRUPTED", "{result:?}");
                assert!(effects() <= 1);
            }
        }
        let was = effects();
        let polled = next.instance.poll(&handle).await;
        assert_eq!((polled.status(), effects()), (result.status(), was));
        assert!(next.approvals().waiting().await.unwrap().is_empty());
        drop(next);
        assert!(names(&site.path("state/staging")).len() <= 2);
        fs::remove_dir_all(site.path("work")).unwrap();
    }
    eprintln!("{done} done, {interrupted} interrupted, {again} asked again");
}

#[tokio::test(flavor = "multi_thread")]
async fn staged_changes_survive_kills() {
    kill_all(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_before_it_runs_survives_kills() {
    kill_all(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_request_survives_kills() {
    kill_all(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_changes_of_a_program_survive_kills() {
    kill_all(3).await;
}
