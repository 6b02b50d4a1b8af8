//! Names in the workdir are exchanged while a guest uses them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread::JoinHandle;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use toolhost_sandbox::{Outcome, Workdir, WorkdirRules, WriteProtected};
use toolhost_tests::{Work, eventually, invocation, own_sandbox, prepare_in, sandbox};

use super::probe::{assert_codes, call, code, output, script};
use super::snapshot::{file_id, tree};

use crate::helper::HELPER;

/// Exchanges of names while guests use them.
const FLIPS: u32 = 100_000;

/// Exchanges two names repeatedly, on its own thread.
struct Flipper {
    stop: Arc<AtomicBool>,
    flips: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl Flipper {
    fn start(one: &Path, other: &Path) -> Self {
        let (stop, flips) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU32::new(0)),
        );
        let thread = std::thread::spawn({
            let (one, other) = (one.to_owned(), other.to_owned());
            let (stop, flips) = (Arc::clone(&stop), Arc::clone(&flips));
            move || {
                while !stop.load(SeqCst) {
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                    flips.fetch_add(1, SeqCst);
                }
            }
        });
        Self {
            stop,
            flips,
            thread: Some(thread),
        }
    }

    fn flips(&self) -> u32 {
        assert!(!self.thread.as_ref().is_some_and(JoinHandle::is_finished));
        self.flips.load(SeqCst)
    }
}

impl Drop for Flipper {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

#[tokio::test]
async fn replacing_a_folder_by_a_link_does_not_lead_out_of_the_workdir() {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    fs::create_dir_all(at("work/d")).unwrap();
    fs::create_dir(at("outside")).unwrap();
    fs::write(at("outside/secret"), "the outside").unwrap();
    fs::write(at("outside/named outside"), "").unwrap();
    fs::write(at("work/d/secret"), "the inside").unwrap();
    symlink("../outside", at("work/e")).unwrap();
    let outside = tree(&at("outside"), None);
    let workdir = sandbox()
        .open_workdir(&at("work"), &WorkdirRules::default())
        .unwrap();

    let round = [
        json!({ "op": "open-at", "path": "d/secret", "follow": true, "as": 1 }),
        json!({ "op": "stat-at", "path": "d/secret", "follow": true }),
        // While `d` leads out, the workdir is listed instead.
        json!({ "op": "open-at", "path": ".", "open": ["directory"], "as": 2 }),
        json!({ "op": "open-at", "path": "d", "follow": true, "open": ["directory"], "as": 2 }),
        json!({ "op": "list", "on": 2 }),
        json!({ "op": "open-at", "path": "d/new", "follow": true, "open": ["create", "truncate"], "flags": ["write"] }),
        json!({ "op": "open-at", "path": "d/secret", "follow": true, "flags": ["write"], "open": ["truncate"] }),
        json!({ "op": "set-times-at", "path": "d/secret", "modified": { "seconds": 1 } }),
        json!({ "op": "create-directory-at", "path": "d/made" }),
        json!({ "op": "remove-directory-at", "path": "d/made" }),
        json!({ "op": "link-at", "path": "d/secret", "to": "stolen" }),
        json!({ "op": "unlink-file-at", "path": "stolen" }),
        json!({ "op": "rename-at", "path": "d/secret", "to": "d/moved" }),
        json!({ "op": "rename-at", "path": "d/moved", "to": "d/secret" }),
        json!({ "op": "symlink-at", "target": "secret", "path": "d/link" }),
        json!({ "op": "unlink-file-at", "path": "d/link" }),
    ];
    let steps = round
        .iter()
        .cycle()
        .take(round.len() * 50)
        .cloned()
        .collect::<Vec<_>>();
    let reads = vec!["d/secret"; 200];
    let flipper = Flipper::start(&at("work/d"), &at("work/e"));
    let (mut reached, mut refused) = (0, 0);
    while flipper.flips() < FLIPS || reached == 0 || refused == 0 {
        let input = json!({ "op": "read", "paths": reads });
        let report = call("climb_out_of_workdir", "run", input, &workdir, |_| ()).await;
        for result in output(&report)["results"].as_array().unwrap() {
            assert_ne!(result["detail"], "the outside");
            if result["ok"] == true {
                reached += 1
            } else {
                refused += 1
            }
        }
        let input = json!({ "op": "list", "paths": vec!["d"; 100] });
        let listed = call("climb_out_of_workdir", "run", input, &workdir, |_| ()).await;
        let ran = script(&workdir, &steps, |_| ()).await;
        for output in [output(&listed), output(&ran.report)] {
            let text = output.to_string();
            assert!(!text.contains("the outside") && !text.contains("named outside"));
        }
    }
    drop(flipper);
    assert_eq!(tree(&at("outside"), None), outside);
}

#[tokio::test]
async fn a_name_that_becomes_protected_during_a_call_is_checked_again() {
    // One thread exchanges a link while a call removes the file behind it.
    let work = Work::new();
    for (path, contents) in [("bundle/tools", "the tools"), ("harmless/tools", "x")] {
        fs::create_dir(work.path(path).parent().unwrap()).unwrap();
        fs::write(work.path(path), contents).unwrap();
    }
    symlink("bundle", work.path("way")).unwrap();
    symlink("harmless", work.path("other")).unwrap();
    let protected =
        WriteProtected::new(["bundle", "bundle/tools"].map(|path| file_id(&work.path(path))));
    let bundle = tree(&work.path("bundle"), None);
    let round = [
        json!({ "op": "unlink-file-at", "path": "way/tools" }),
        json!({ "op": "rename-at", "path": "way/tools", "to": "stolen" }),
        json!({ "op": "rename-at", "path": "mine", "to": "way/tools" }),
        json!({ "op": "open-at", "path": "mine", "open": ["create"], "flags": ["write"] }),
        json!({ "op": "open-at", "path": "harmless/tools", "open": ["create"], "flags": ["write"] }),
    ];
    let steps = round
        .iter()
        .cycle()
        .take(round.len() * 100)
        .cloned()
        .collect::<Vec<_>>();
    let flipper = Flipper::start(&work.path("way"), &work.path("other"));
    let (mut changed, mut refused) = (0, 0);
    while flipper.flips() < FLIPS || changed == 0 || refused == 0 {
        let ran = script(&work.workdir, &steps, |request| {
            request.protected = protected.clone()
        })
        .await;
        for result in ran.results.iter().step_by(round.len()) {
            match code(result) {
                "not-permitted" => refused += 1,
                _ => changed += 1,
            }
        }
    }
    drop(flipper);
    assert_eq!(tree(&work.path("bundle"), None), bundle);
}

type Change = fn(&Path, &Path);

/// Changes that the host makes to `work`, beside `decoy`, and the path of the opened directory afterwards.
const CHANGES: [(&str, Change, Option<&str>); 5] = [
    ("nothing", |_, _| (), Some("work")),
    (
        "renamed",
        |work, top| fs::rename(work, top.join("moved")).unwrap(),
        Some("moved"),
    ),
    (
        "replaced by another directory",
        |work, top| {
            fs::rename(work, top.join("moved")).unwrap();
            fs::rename(top.join("decoy"), work).unwrap();
        },
        Some("moved"),
    ),
    (
        "replaced by a link",
        |work, top| {
            fs::rename(work, top.join("moved")).unwrap();
            symlink("decoy", work).unwrap();
        },
        Some("moved"),
    ),
    (
        "removed and created again",
        |work, _| {
            // A guest can create files in it at any time.
            while fs::remove_dir_all(work).is_err() {}
            fs::create_dir(work).unwrap();
            fs::write(work.join("file"), "the decoy's").unwrap();
        },
        None,
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_workdir_stays_the_opened_directory_while_a_call_waits_or_runs() {
    for (what, change, now_at) in CHANGES {
        for waits in [true, false] {
            let top = tempfile::tempdir().unwrap();
            let at = |path: &str| top.path().join(path);
            for dir in ["work", "decoy"] {
                fs::create_dir(at(dir)).unwrap();
            }
            let own = own_sandbox(|config| config.live_calls = 1);
            let workdir = own
                .open_workdir(&at("work"), &WorkdirRules::default())
                .unwrap();
            let sleep = prepare_in(&own, "sleep_forever").await;
            let make = prepare_in(&own, "make_files").await;
            let holds = waits.then(|| {
                let request = invocation("run", &json!({}), None);
                tokio::spawn(async move { sleep.call(request).await })
            });
            eventually("the slot is taken", || own.free_call_slots() == 0 || !waits).await;
            // Enough that the call still runs when the path changes.
            let count: usize = if waits { 100 } else { 2_000 };
            let input = json!({ "dir": "/made", "count": count });
            let mut request = invocation("run", &input, None);
            request.workdir = Some(workdir);
            let call = tokio::spawn(async move { make.call(request).await });
            match &holds {
                Some(_) => eventually("the call waits", || own.waiting_calls() == 1).await,
                None => eventually("the call runs", || at("work/made/10").exists()).await,
            }
            change(&at("work"), top.path());
            let before = tree(top.path(), now_at.map(at).as_deref());
            if let Some(holds) = holds {
                holds.abort();
            }
            let report = call.await.unwrap();
            let after = tree(top.path(), now_at.map(at).as_deref());
            assert_eq!(after, before, "{what}, {waits}");
            match now_at {
                Some(now_at) => {
                    assert_eq!(output(&report)["made"], count, "{what}, {waits}");
                    let made = fs::read_dir(at(now_at).join("made")).unwrap();
                    assert_eq!(made.count(), count, "{what}, {waits}");
                }
                None => assert!(
                    !matches!(&report.outcome, Ok(Outcome::Output(value)) if value["made"] == count),
                    "{report:?}"
                ),
            }
        }
    }
}

#[tokio::test]
async fn swapping_the_name_of_a_workdir_does_not_change_the_workdir() {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    fs::create_dir(at("work")).unwrap();
    fs::create_dir(at("outside")).unwrap();
    fs::write(at("outside/file"), "the outside").unwrap();
    fs::write(at("work/file"), "the inside").unwrap();
    symlink("outside", at("other")).unwrap();
    let outside = tree(&at("outside"), None);
    let workdir = sandbox()
        .open_workdir(&at("work"), &WorkdirRules::default())
        .unwrap();
    let round = [
        json!({ "op": "open-at", "path": "file", "as": 1 }),
        json!({ "op": "read", "on": 1, "length": 99 }),
        json!({ "op": "list" }),
        json!({ "op": "open-at", "path": "new", "open": ["create", "truncate"], "flags": ["write"], "as": 2 }),
        json!({ "op": "write", "on": 2, "text": "new" }),
        json!({ "op": "rename-at", "path": "new", "to": "renamed" }),
        json!({ "op": "create-directory-at", "path": "made" }),
        json!({ "op": "remove-directory-at", "path": "made" }),
        json!({ "op": "unlink-file-at", "path": "renamed" }),
    ];
    let steps: Vec<_> = round
        .iter()
        .cycle()
        .take(round.len() * 50)
        .cloned()
        .collect();
    let flipper = Flipper::start(&at("work"), &at("other"));
    while flipper.flips() < FLIPS {
        let ran = script(&workdir, &steps, |_| ()).await;
        for results in ran.results.chunks(round.len()) {
            assert!(
                results.iter().all(|result| code(result) == "ok"),
                "{results:?}"
            );
            assert_eq!(results[1]["text"], "the inside");
            assert_eq!(results[2]["entries"].as_array().unwrap().len(), 1);
        }
    }
    drop(flipper);
    assert_eq!(tree(&at("outside"), None), outside);
}

#[tokio::test]
async fn the_workdir_stays_the_opened_directory_when_its_path_changes() {
    for (what, change, now_at) in CHANGES {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for (dir, contents) in [("work", "its own"), ("decoy", "the decoy's")] {
            fs::create_dir(at(dir)).unwrap();
            fs::write(at(dir).join("file"), contents).unwrap();
        }
        let workdir = sandbox()
            .open_workdir(&at("work"), &WorkdirRules::default())
            .unwrap();
        change(&at("work"), top.path());
        let before = tree(top.path(), now_at.map(at).as_deref());

        let make = json!({ "op": "open-at", "path": "made", "open": ["create"], "flags": ["write"], "as": 2 });
        let mut steps = vec![
            json!({ "op": "stat" }),
            json!({ "op": "open-at", "path": "file", "as": 1 }),
            json!({ "op": "create-directory-at", "path": "folder" }),
            make,
        ];
        let gone = ["ok", "no-entry", "no-entry", "no-entry"];
        if now_at.is_some() {
            steps.push(json!({ "op": "write", "on": 2, "text": "made" }));
            steps.push(json!({ "op": "read", "on": 1, "length": 99 }));
        }
        let ran = script(&workdir, &steps, |_| ()).await;
        match now_at {
            Some(now_at) => {
                assert_codes(&steps, &ran, &["ok"; 6]);
                assert_eq!(ran.results[5]["text"], "its own", "{what}");
                assert_eq!(
                    fs::read(at(now_at).join("made")).unwrap(),
                    b"made",
                    "{what}"
                );
                assert!(at(now_at).join("folder").is_dir(), "{what}");
            }
            None => assert_codes(&steps, &ran, &gone),
        }
        let after = tree(top.path(), now_at.map(at).as_deref());
        assert_eq!(after, before, "{what}");
    }
}

#[tokio::test]
async fn appends_of_concurrent_calls_lose_no_data() {
    let work = Work::new();
    fs::write(work.path("log"), "").unwrap();
    let lines = 2_000;
    let append = async |workdir: Workdir, line: &str| {
        let mut steps = vec![
            json!({ "op": "open-at", "path": "log", "flags": ["write"], "as": 1 }),
            json!({ "op": "append-via-stream", "on": 1, "as": 2 }),
        ];
        let write = json!({ "op": "stream-write", "on": 2, "text": line, "blocking": false });
        steps.extend(std::iter::repeat_n(write, lines));
        let ran = script(&workdir, &steps, |_| ()).await;
        assert!(ran.codes().iter().all(|code| *code == "ok"));
    };
    std::thread::scope(|scope| {
        for line in ["one\n", "two\n"] {
            let workdir = work.workdir.clone();
            scope.spawn(move || futures_executor::block_on(append(workdir, line)));
        }
    });
    let log = fs::read_to_string(work.path("log")).unwrap();
    for line in ["one", "two"] {
        assert_eq!(
            log.lines().filter(|found| *found == line).count(),
            lines,
            "{line}"
        );
    }
}

#[test]
fn the_embedder_can_open_files_while_tools_open_all_they_can() {
    // 240 descriptors: guests get half of them, and one tool three quarters of that.
    let few = "ulimit -n 240; exec \"$0\" few-descriptors";
    let ran = std::process::Command::new("sh")
        .args(["-c", few, HELPER])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let seen: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(seen["embedder"]["refused"], 0, "{seen}");
    assert!(seen["embedder"]["opened"].as_u64().unwrap() > 100, "{seen}");
    // A path whose lookup is disturbed repeatedly returns an error; there is no fallback.
    for (code, _) in seen["tools"]["walks"].as_object().unwrap() {
        assert!(["ok", "would-block"].contains(&code.as_str()), "{seen}");
    }
    assert!(
        seen["tools"]["walks"]["ok"].as_u64().unwrap() > 100,
        "{seen}"
    );
    for held in seen["tools"]["held"].as_array().unwrap() {
        // Each listing takes three: the guest's handle of the folder, the listing's, and the system's.
        assert_eq!(*held, json!({ "count": 30, "error": "ENOMEM" }), "{seen}");
    }
}
