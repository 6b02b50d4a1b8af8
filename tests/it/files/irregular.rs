//! Files that are neither regular nor directories, and names that are not UTF-8.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use toolhost_tests::Work;

use super::probe::{assert_codes, call, check, output, script};

/// Returns a workdir with one of each file type that cannot be opened, with names and types.
fn irregular_files() -> (Work, Vec<(&'static str, &'static str)>) {
    let work = Work::new();
    let mut there = vec![("fifo", "fifo"), ("socket", "socket")];
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, work.path("fifo"), FileType::Fifo, mode, 0).unwrap();
    // The name stays after the listener is closed.
    drop(UnixListener::bind(work.path("socket")).unwrap());
    // Only root can create a device; this one is /dev/zero.
    let zero = rustix::fs::makedev(1, 5);
    match mknodat(
        CWD,
        work.path("device"),
        FileType::CharacterDevice,
        mode,
        zero,
    ) {
        Ok(()) => there.push(("device", "character-device")),
        Err(error) => eprintln!("NOT TESTED: a character device: {error}"),
    }
    (work, there)
}

#[tokio::test]
async fn only_regular_files_and_folders_can_be_opened() {
    let (work, there) = irregular_files();
    let before = super::snapshot::tree(work.dir.path(), None);
    for (name, kind) in there {
        let open = |how: &[&str], flags: &[&str]| json!({ "op": "open-at", "path": name, "open": how, "flags": flags });
        let steps = [
            open(&[], &["read"]),
            open(&[], &["write"]),
            open(&[], &["read", "write"]),
            open(&["create"], &["write"]),
            open(&["truncate"], &["write"]),
            open(&["directory"], &["read"]),
            open(&["create", "exclusive"], &["write"]),
            json!({ "op": "stat-at", "path": name }),
        ];
        let ran = script(&work.workdir, &steps, |request| {
            // A host thread that opened a FIFO would wait for its other end forever.
            request.limits.deadline = Duration::from_secs(5);
        })
        .await;
        for (step, code) in steps.iter().zip(ran.codes()) {
            let expected: &[&str] = match step["op"].as_str() {
                Some("stat-at") => &["ok"],
                _ if step["open"] == json!(["directory"]) => &["not-directory"],
                _ if step["open"] == json!(["create", "exclusive"]) => &["exist"],
                _ => &["not-permitted", "no-device"],
            };
            assert!(expected.contains(&code), "{code}: {name} {step}");
        }
        assert_eq!(ran.results[7]["type"], kind);
        let report = call(
            "climb_out_of_workdir",
            "run",
            json!({ "op": "read", "paths": [name] }),
            &work.workdir,
            |_| (),
        )
        .await;
        assert_eq!(output(&report)["results"][0]["ok"], false, "{name}");
    }
    assert_eq!(super::snapshot::tree(work.dir.path(), None), before);
}

#[test]
fn a_refused_fifo_is_never_opened() {
    let (work, _) = irregular_files();
    let path = work.path("fifo");
    let (opened, seen) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let writer = path.clone();
        scope.spawn(move || {
            let there = fs::OpenOptions::new().write(true).open(writer);
            opened.send(there.is_ok()).unwrap();
        });
        let open = |flags: &[&str]| json!({ "op": "open-at", "path": "fifo", "flags": flags });
        let steps = std::iter::repeat_n([open(&["read"]), open(&["read", "write"])], 200)
            .flatten()
            .collect::<Vec<_>>();
        for _ in 0..5 {
            let ran = futures_executor::block_on(script(&work.workdir, &steps, |_| ()));
            assert!(ran.codes().iter().all(|code| *code == "not-permitted"));
        }
        assert!(seen.try_recv().is_err(), "the other end still waits");
        // A reader ends the wait.
        let _reads = fs::File::open(&path).unwrap();
        assert!(seen.recv().unwrap());
    });
}

#[tokio::test]
async fn irregular_files_can_be_listed_moved_and_removed() {
    let (work, there) = irregular_files();
    let entries: BTreeSet<(&str, &str)> = there.iter().copied().collect();
    let entries: Vec<Value> = entries
        .iter()
        .map(|(name, kind)| json!({ "name": name, "type": kind }))
        .collect();
    check(
        &work,
        &[(json!({ "op": "list" }), json!({ "entries": entries }))],
    )
    .await;
    let mut steps = Vec::new();
    for (name, _) in &there {
        steps.push(json!({ "op": "set-times-at", "path": name, "modified": { "seconds": 1 } }));
        steps.push(json!({ "op": "rename-at", "path": name, "to": format!("{name}_moved") }));
        steps.push(json!({ "op": "unlink-file-at", "path": format!("{name}_moved") }));
    }
    let ran = script(&work.workdir, &steps, |_| ()).await;
    assert_codes(&steps, &ran, &vec!["ok"; steps.len()]);
    assert_eq!(fs::read_dir(work.dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn names_that_are_not_utf_8_are_listed_with_replacement_characters() {
    let work = Work::new();
    for name in [
        &b"plain"[..],
        b"caf\xe9",
        b"\xff\xfe",
        b"new\nline",
        "snow\u{2603}".as_bytes(),
    ] {
        fs::write(work.dir.path().join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let names = [
        "caf\u{fffd}",
        "new\nline",
        "plain",
        "snow\u{2603}",
        "\u{fffd}\u{fffd}",
    ];
    let entries = names.map(|name| json!({ "name": name, "type": "regular-file" }));
    check(
        &work,
        &[(json!({ "op": "list" }), json!({ "entries": entries }))],
    )
    .await;
    // A path with a replacement character reaches no file.
    for unreachable in ["caf\u{fffd}", "\u{fffd}\u{fffd}"] {
        check(
            &work,
            &[(
                json!({ "op": "open-at", "path": unreachable }),
                json!("no-entry"),
            )],
        )
        .await;
    }
    std::os::unix::fs::symlink(OsStr::from_bytes(b"\xff"), work.path("link")).unwrap();
    let readlink = json!({ "op": "readlink-at", "path": "link" });
    check(&work, &[(readlink, json!("illegal-byte-sequence"))]).await;
}

#[tokio::test]
async fn a_large_folder_is_listed_completely_or_refused() {
    let work = Work::new();
    // All names are links to one file, which is faster to create.
    fs::write(work.path("0"), "").unwrap();
    for n in 1..20_000 {
        fs::hard_link(work.path("0"), work.path(&n.to_string())).unwrap();
    }
    let list = async |input: Value, names: u64| {
        let report = call("list_dir", "run", input, &work.workdir, |request| {
            request.limits.listed_names = names
        })
        .await;
        output(&report).clone()
    };
    assert_eq!(list(json!({}), 100_000).await, json!({ "count": 20_000 }));
    assert_eq!(list(json!({}), 20_000).await, json!({ "count": 20_000 }));
    let cut = list(json!({}), 1_000).await;
    assert_eq!(cut, json!({ "count": 1_000, "error": "EOVERFLOW" }));
    // All listings of a call count towards one limit.
    let held = list(json!({ "hold": 20 }), 10).await;
    assert_eq!(held, json!({ "count": 10, "error": "EOVERFLOW" }));
}
