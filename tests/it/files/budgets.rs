//! Disk limits of a call and of a workdir, and the usage they report.

use std::fs;
use std::path::Path;

use futures_executor::block_on;
use serde_json::{Value, json};
use toolhost_sandbox::{CallReport, DiskLimit, Limits, Workdir, WorkdirRules};
use toolhost_tests::{Work, sandbox};

use super::probe::{Ran, assert_codes, call, code, open, output, script};

/// Returns the sum of the sizes of all files beneath a folder.
fn on_disk(dir: &Path) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        bytes += if metadata.is_dir() {
            on_disk(&path)
        } else {
            metadata.len()
        };
    }
    bytes
}

/// Counts the names beneath a folder.
fn names(dir: &Path) -> u64 {
    let beneath = |path: &Path| {
        if path.is_dir() && !path.is_symlink() {
            names(path)
        } else {
            0
        }
    };
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| 1 + beneath(&entry.unwrap().path()))
        .sum()
}

async fn fill(work: &Work, input: Value, limit: impl FnOnce(&mut Limits)) -> CallReport {
    call("write_bytes", "run", input, &work.workdir, |request| {
        limit(&mut request.limits)
    })
    .await
}

async fn limited(workdir: &Workdir, steps: &[Value], limit: impl FnOnce(&mut Limits)) -> Ran {
    script(workdir, steps, |request| limit(&mut request.limits)).await
}

const LIMIT: u64 = 100_000;

/// Bytes that each name counts for.
const NAME: u64 = 4_096;

#[tokio::test]
async fn the_disk_limit_holds_for_every_way_to_write() {
    // The input, the bytes on disk afterwards, and whether the call succeeded.
    let cases = [
        (json!({ "bytes": LIMIT }), LIMIT, true),
        (json!({ "bytes": LIMIT, "chunk": 7 }), LIMIT, true),
        (json!({ "bytes": LIMIT + 1, "chunk": 1_000 }), LIMIT, false),
        (
            json!({ "bytes": 10 * LIMIT, "chunk": 30_000 }),
            90_000,
            false,
        ),
        (
            json!({ "bytes": LIMIT, "mode": "append", "chunk": 10_000 }),
            LIMIT,
            true,
        ),
        (
            json!({ "bytes": LIMIT + 1, "mode": "append", "chunk": 10_000 }),
            LIMIT,
            false,
        ),
        (json!({ "bytes": LIMIT, "mode": "set_size" }), LIMIT, true),
        (json!({ "bytes": LIMIT + 1, "mode": "set_size" }), 0, false),
        (
            json!({ "bytes": 1_u64 << 50, "mode": "set_size" }),
            0,
            false,
        ),
        (json!({ "bytes": i64::MAX, "mode": "set_size" }), 0, false),
        (json!({ "bytes": LIMIT, "mode": "sparse" }), LIMIT, true),
        (json!({ "bytes": LIMIT + 1, "mode": "sparse" }), 0, false),
        (json!({ "bytes": i64::MAX, "mode": "sparse" }), 0, false),
    ];
    for (input, there, all) in cases {
        let work = Work::new();
        let report = fill(&work, input.clone(), |limits| {
            limits.disk_bytes = LIMIT + NAME;
        })
        .await;
        let answer = output(&report);
        // wasi-libc maps every error of a stream to EIO.
        let error = match input["mode"].as_str() {
            _ if all => Value::Null,
            Some("set_size") => json!("ENOSPC"),
            _ => json!("EIO"),
        };
        assert_eq!(answer["error"], error, "{input}");
        assert_eq!(
            report.disk_limit,
            (!all).then_some(DiskLimit::CallBytes),
            "{input}"
        );
        assert_eq!(on_disk(work.dir.path()), there, "{input}");
        let written = match input["mode"].as_str() {
            Some("set_size") => 0,
            Some("sparse") => u64::from(all),
            _ => there,
        };
        assert_eq!(report.usage.bytes_written, written, "{input}");
        assert_eq!(report.usage.files_made, 1, "{input}");
    }
}

#[tokio::test]
async fn every_way_to_write_reports_insufficient_space() {
    let work = Work::new();
    let steps = [
        open("f", &["create"], &["read", "write"]),
        json!({ "op": "write", "on": 1, "bytes": 900 }),
        json!({ "op": "write", "on": 1, "bytes": 101, "offset": 900 }),
        json!({ "op": "write-via-stream", "on": 1, "offset": 900, "as": 2 }),
        json!({ "op": "stream-write", "on": 2, "bytes": 101 }),
        json!({ "op": "append-via-stream", "on": 1, "as": 3 }),
        json!({ "op": "stream-write", "on": 3, "bytes": 101 }),
        json!({ "op": "stream-write-zeroes", "on": 3, "bytes": 101 }),
        json!({ "op": "read-via-stream", "on": 1, "as": 4 }),
        json!({ "op": "stream-splice", "on": 3, "from": 4, "length": 101 }),
        json!({ "op": "set-size", "on": 1, "size": 1_001 }),
        json!({ "op": "write", "on": 1, "bytes": 1, "offset": 1_000 }),
        json!({ "op": "write", "on": 1, "bytes": 1, "offset": u64::MAX - 1 }),
        json!({ "op": "write", "on": 1, "bytes": 2, "offset": u64::MAX }),
        json!({ "op": "set-size", "on": 1, "size": u64::MAX }),
        // A refused write takes nothing of the budget.
        json!({ "op": "write", "on": 1, "bytes": 100, "offset": 900 }),
        // Overwriting counts as writing: the budget is spent.
        json!({ "op": "write", "on": 1, "bytes": 1 }),
        // Operations that write no bytes still succeed.
        json!({ "op": "write", "on": 1, "bytes": 0 }),
        json!({ "op": "set-size", "on": 1, "size": 10 }),
    ];
    let (ok, full) = ("ok", "insufficient-space");
    let expected = [
        ok,
        ok,
        full,
        ok,
        full,
        ok,
        full,
        full,
        ok,
        full,
        full,
        full,
        full,
        "file-too-large",
        full,
        ok,
        full,
        ok,
        ok,
    ];
    let ran = limited(&work.workdir, &steps, |limits| {
        limits.disk_bytes = 1_000 + NAME
    })
    .await;
    assert_codes(&steps, &ran, &expected);
    assert_eq!(ran.report.disk_limit, Some(DiskLimit::CallBytes));
    assert_eq!(ran.report.usage.bytes_written, 1_000);
    assert_eq!(on_disk(work.dir.path()), 10);
}

#[tokio::test]
async fn other_write_errors_are_not_reported_as_a_full_disk() {
    let work = Work::new();
    let steps = [
        open("none/x", &["create"], &["write"]),
        json!({ "op": "create-directory-at", "path": "." }),
        open("f", &["create", "exclusive"], &["write"]),
        open("f", &["create", "exclusive"], &["write"]),
    ];
    let ran = limited(&work.workdir, &steps, |limits| limits.files = 1).await;
    assert_codes(
        &steps[..3],
        &Ran {
            results: ran.results[..3].to_vec(),
            ..ran
        },
        &["no-entry", "exist", "ok"],
    );
}

#[tokio::test]
async fn every_call_has_its_own_disk_budget() {
    let work = Work::new();
    for round in 1..=3 {
        let input = json!({ "bytes": LIMIT, "mode": "append", "chunk": 50_000 });
        let report = fill(&work, input, |limits| limits.disk_bytes = LIMIT + NAME).await;
        assert_eq!(report.disk_limit, None);
        assert_eq!(report.usage.bytes_written, LIMIT);
        assert_eq!(on_disk(work.dir.path()), round * LIMIT);
    }
}

#[tokio::test]
async fn files_folders_and_links_count_towards_the_file_limit() {
    for kind in ["file", "dir", "deep"] {
        let work = Work::new();
        for (count, error) in [(9, Value::Null), (10, json!("ENOSPC"))] {
            let dir = format!("/{kind}{count}");
            let input = json!({ "count": count, "kind": kind, "dir": dir });
            let report = call("make_files", "run", input, &work.workdir, |request| {
                request.limits.files = 10
            })
            .await;
            assert_eq!(output(&report)["error"], error, "{kind} {count}");
            let met = (!error.is_null()).then_some(DiskLimit::Files);
            assert_eq!(report.disk_limit, met, "{kind} {count}");
            assert_eq!(report.usage.files_made, 10, "{kind} {count}");
            assert_eq!(
                1 + names(&work.path(dir.trim_start_matches('/'))),
                10,
                "{kind} {count}"
            );
        }
    }
    let work = Work::new();
    fs::write(work.path("there"), "").unwrap();
    let steps = [
        open("there", &["create"], &["write"]),
        json!({ "op": "create-directory-at", "path": "there" }),
        json!({ "op": "symlink-at", "path": "one", "target": "there" }),
        json!({ "op": "link-at", "path": "there", "to": "two" }),
        open("three", &["create"], &["read"]),
        json!({ "op": "rename-at", "path": "three", "to": "renamed" }),
        json!({ "op": "unlink-file-at", "path": "one" }),
        json!({ "op": "symlink-at", "path": "four", "target": "there" }),
        json!({ "op": "link-at", "path": "there", "to": "four" }),
        json!({ "op": "create-directory-at", "path": "four" }),
        open("four", &["create"], &["write"]),
    ];
    let full = "insufficient-space";
    let expected = [
        "ok", "exist", "ok", "ok", "ok", "ok", "ok", full, full, full, full,
    ];
    let ran = limited(&work.workdir, &steps, |limits| limits.files = 3).await;
    assert_codes(&steps, &ran, &expected);
    assert_eq!(ran.report.usage.files_made, 3);
    assert_eq!(names(work.dir.path()), 3);
}

#[tokio::test]
async fn open_descriptors_are_limited_and_released() {
    let work = Work::new();
    let report = call(
        "open_many",
        "run",
        json!({ "count": 300 }),
        &work.workdir,
        |_| (),
    )
    .await;
    assert_eq!(
        output(&report),
        &json!({ "opened": 256, "error": "ENOMEM" })
    );

    let close = |on: u64| json!({ "op": "close", "on": on });
    let read = || json!({ "op": "open-at", "path": "held", "as": 1 });
    let listing = || json!({ "op": "read-directory", "as": 2 });
    let mut steps = vec![read(), listing(), read(), listing()];
    let full = "insufficient-memory";
    // A listing takes two descriptors: the folder's, and one that the system reads from.
    let mut expected = vec!["ok", "ok", full, full];
    // A stream keeps its file open after the file's handle is closed.
    steps.extend([
        close(2),
        json!({ "op": "read-via-stream", "on": 1, "as": 3 }),
        close(1),
        read(),
        listing(),
        close(3),
        listing(),
    ]);
    expected.extend(["ok", "ok", "ok", "ok", full, "ok", "ok"]);
    for _ in 0..100 {
        steps.extend([close(1), read()]);
        expected.extend(["ok", "ok"]);
    }
    let ran = limited(&work.workdir, &steps, |limits| limits.open_files = 3).await;
    assert_codes(&steps, &ran, &expected);
    // A file that could not be opened was not created.
    let steps = [read(), open("new", &["create"], &["write"])];
    let mut steps = Vec::from(steps);
    steps[1]["as"] = json!(2);
    let ran = limited(&work.workdir, &steps, |limits| limits.open_files = 1).await;
    assert_codes(&steps, &ran, &["ok", full]);
    assert!(!work.path("new").exists());
}

#[tokio::test]
async fn the_workdir_does_not_count_as_an_open_descriptor() {
    let work = Work::new();
    fs::write(work.path("f"), "").unwrap();
    let steps = [
        json!({ "op": "preopens" }),
        json!({ "op": "stat-at", "path": "f" }),
        open("f", &[], &["read"]),
    ];
    let ran = limited(&work.workdir, &steps, |limits| limits.open_files = 0).await;
    assert_codes(&steps, &ran, &["ok", "ok", "insufficient-memory"]);
}

#[tokio::test]
async fn every_created_name_counts_as_growth_until_it_is_removed() {
    let input =
        |kind: &str, n: u64| json!({ "count": 1_000, "kind": kind, "dir": format!("/{n}") });
    for kind in ["file", "dir"] {
        let work = Work::new();
        let mut made = Vec::new();
        for n in 0..3 {
            let report = call(
                "make_files",
                "run",
                input(kind, n),
                &work.workdir,
                |request| {
                    request.limits.workdir_bytes = 2_000 * NAME;
                },
            )
            .await;
            made.push(report.usage.files_made);
            assert_eq!(report.disk_limit.is_some(), n > 0, "{kind} {n}");
        }
        // Each folder is a name too; the last two calls share the rest of the first.
        assert_eq!(made.iter().sum::<u64>(), 2_000, "{kind}: {made:?}");
        assert_eq!(names(work.dir.path()), 2_000, "{kind}");
    }
    // Bytes count as well; a refused creation takes nothing.
    let work = Work::new();
    let make = |name: &str| json!({ "op": "create-directory-at", "path": name });
    let remove = |name: &str| json!({ "op": "remove-directory-at", "path": name });
    let full = "insufficient-space";
    let steps = [
        make("a"),
        make("a"),
        make("b"),
        make("c"),
        remove("a"),
        make("c"),
    ];
    let ran = limited(&work.workdir, &steps, |limits| limits.disk_bytes = 2 * NAME).await;
    assert_codes(&steps, &ran, &["ok", "exist", "ok", full, "ok", full]);
    let steps = [make("a"), make("c"), remove("b"), make("c"), make("d")];
    let ran = limited(&work.workdir, &steps, |limits| {
        limits.workdir_bytes = 2 * NAME
    })
    .await;
    assert_codes(&steps, &ran, &["ok", full, "ok", "ok", full]);
}

#[tokio::test]
async fn all_calls_in_a_workdir_share_its_growth_limit() {
    let work = Work::new();
    let again = sandbox()
        .open_workdir(work.dir.path(), &WorkdirRules::default())
        .unwrap();
    let grow = async |workdir: &Workdir, path: &str, size: u64| {
        let steps = [
            open(path, &["create"], &["write"]),
            json!({ "op": "set-size", "on": 1, "size": size }),
        ];
        let ran = limited(workdir, &steps, |limits| limits.workdir_bytes = 1_000).await;
        (code(&ran.results[1]).to_owned(), ran.report.disk_limit)
    };
    // The host made these names: what guests write to them counts in bytes only.
    for name in ["a", "b", "c"] {
        fs::write(work.path(name), "").unwrap();
    }
    let (ok, full) = (
        ("ok".to_owned(), None),
        (
            "insufficient-space".to_owned(),
            Some(DiskLimit::WorkdirBytes),
        ),
    );
    assert_eq!(grow(&work.workdir, "a", 600).await, ok);
    assert_eq!(grow(&again, "b", 401).await, full);
    assert_eq!(grow(&again, "b", 400).await, ok);
    assert_eq!(grow(&work.workdir, "c", 1).await, full);
    assert_eq!(grow(&again, "a", 0).await, ok);
    assert_eq!(grow(&work.workdir, "c", 600).await, ok);
    assert_eq!(on_disk(work.dir.path()), 1_000);
    // What the host writes does not count as growth.
    fs::write(work.path("host"), vec![0; 5_000]).unwrap();
    assert_eq!(grow(&work.workdir, "c", 0).await, ok);
    assert_eq!(grow(&work.workdir, "c", 600).await, ok);
}

#[tokio::test]
async fn reopening_a_workdir_keeps_its_growth_count() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::write(dir.path().join(name), "").unwrap();
    }
    let grow = async |path: &str| {
        let workdir = sandbox().open_workdir(dir.path(), &WorkdirRules::default());
        let steps = [
            open(path, &["create"], &["write"]),
            json!({ "op": "set-size", "on": 1, "size": 600 }),
        ];
        let ran = limited(&workdir.unwrap(), &steps, |limits| {
            limits.workdir_bytes = 1_000
        })
        .await;
        code(&ran.results[1]).to_owned()
    };
    assert_eq!(grow("a").await, "ok");
    assert_eq!(grow("b").await, "insufficient-space");
}

#[tokio::test]
async fn concurrent_calls_stay_within_the_growth_limit() {
    for round in 0..20 {
        let work = Work::new();
        let grow = async |workdir: Workdir, path: String| {
            let mut steps = vec![open(&path, &["create"], &["write"])];
            steps.extend(
                (1..=100).map(|step| json!({ "op": "set-size", "on": 1, "size": step * 1_000 })),
            );
            limited(&workdir, &steps, |limits| limits.workdir_bytes = LIMIT).await;
        };
        for name in ["a", "b", "c", "d"] {
            fs::write(work.path(name), "").unwrap();
        }
        std::thread::scope(|scope| {
            for path in ["a", "b", "c", "d"] {
                let workdir = work.workdir.clone();
                scope.spawn(move || block_on(grow(workdir, path.to_owned())));
            }
        });
        assert_eq!(on_disk(work.dir.path()), LIMIT, "round {round}");
    }
}

#[tokio::test]
async fn freed_bytes_are_credited_to_one_call_only() {
    // Bytes for every name that can exist at once, and for the largest file.
    const MOST: u64 = 4 * NAME + 1_000;
    let work = Work::new();
    let session = async |workdir: Workdir, other: &str| {
        let size = |size: u64| json!({ "op": "set-size", "on": 1, "size": size });
        let round = [
            open("f", &["create"], &["write"]),
            size(600),
            size(0),
            json!({ "op": "write", "on": 1, "bytes": 1, "offset": 599 }),
            size(600),
            open(other, &["create"], &["write"]),
            json!({ "op": "rename-at", "path": other, "to": "f" }),
            json!({ "op": "unlink-file-at", "path": "f" }),
        ];
        let steps: Vec<Value> = std::iter::repeat_n(round, 10).flatten().collect();
        // A call ends when its file is removed by another.
        let _either = call(
            "fs_probe",
            "run",
            json!({ "script": steps }),
            &workdir,
            |request| {
                request.limits.workdir_bytes = MOST;
                request.limits.disk_bytes = u64::MAX;
            },
        )
        .await;
    };
    std::thread::scope(|scope| {
        for other in ["a", "b", "c"] {
            let workdir = work.workdir.clone();
            let rounds = move || (0..200).for_each(|_| block_on(session(workdir.clone(), other)));
            scope.spawn(rounds);
        }
    });
    let there = on_disk(work.dir.path()) + NAME * names(work.dir.path());
    assert!(there <= MOST, "{there}");
    let grow = [
        open("rest", &["create"], &["write"]),
        json!({ "op": "set-size", "on": 1, "size": MOST - there - NAME + 1 }),
    ];
    // A file whose name is removed in a race may count for longer than it exists, never for less time.
    let ran = limited(&work.workdir, &grow, |limits| limits.workdir_bytes = MOST).await;
    assert_codes(&grow, &ran, &["ok", "insufficient-space"]);
}

#[tokio::test]
async fn a_new_workdir_does_not_inherit_the_growth_of_a_removed_one() {
    // File systems reuse the inode of a removed directory.
    let fill = async || {
        for _ in 0..100 {
            let work = Work::new();
            let steps = [
                open("f", &["create"], &["write"]),
                json!({ "op": "set-size", "on": 1, "size": LIMIT }),
            ];
            let ran = limited(&work.workdir, &steps, |limits| {
                limits.workdir_bytes = LIMIT + NAME;
            })
            .await;
            assert_codes(&steps, &ran, &["ok"; 2]);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| block_on(fill()));
        }
    });
}

#[tokio::test]
async fn a_file_that_was_removed_counts_until_it_is_closed() {
    let size = |slot: u64| json!({ "op": "set-size", "on": slot, "size": LIMIT });
    let make = |path: &str, slot: u64| {
        let mut step = open(path, &["create"], &["write"]);
        step["as"] = json!(slot);
        step
    };
    for remove in [
        json!({ "op": "unlink-file-at", "path": "f" }),
        json!({ "op": "rename-at", "path": "empty", "to": "f" }),
    ] {
        let work = Work::new();
        let steps = [
            make("f", 1),
            size(1),
            make("empty", 2),
            remove,
            make("g", 3),
            size(3),
            json!({ "op": "close", "on": 1 }),
            size(3),
        ];
        let ran = limited(&work.workdir, &steps, |limits| {
            limits.workdir_bytes = LIMIT + 3 * NAME;
        })
        .await;
        let mut codes = vec!["ok"; steps.len()];
        codes[5] = "insufficient-space";
        assert_codes(&steps, &ran, &codes);
    }
}

/// Runs steps in a workdir, then returns how many more bytes fit into 1,000, not counting names.
async fn bytes_left_after(work: &Work, steps: &[Value]) -> u64 {
    let ran = limited(&work.workdir, steps, |limits| {
        limits.workdir_bytes = 1_000 + 8 * NAME;
    })
    .await;
    assert_codes(steps, &ran, &vec!["ok"; steps.len()]);
    let mut steps = vec![open("rest", &["create"], &["write"])];
    let rest = |bytes: u64| json!({ "op": "set-size", "on": 1, "size": bytes });
    let sizes: Vec<u64> = (0..=40).map(|step| step * 100).collect();
    steps.extend(sizes.iter().map(|bytes| rest(*bytes)));
    steps.push(rest(0));
    let names = 1 + names(work.dir.path());
    let ran = limited(&work.workdir, &steps, |limits| {
        limits.workdir_bytes = 1_000 + names * NAME;
    })
    .await;
    let codes = ran.codes();
    let fit = codes
        .iter()
        .skip(1)
        .zip(&sizes)
        .filter(|(code, _)| **code == "ok");
    *fit.map(|(_, bytes)| bytes).max().unwrap()
}

#[tokio::test]
async fn a_guest_can_write_again_exactly_the_bytes_it_freed() {
    let make = |path: &str, slot: u64, bytes: u64| {
        let mut step = open(path, &["create"], &["read", "write"]);
        step["as"] = json!(slot);
        vec![step, json!({ "op": "set-size", "on": slot, "size": bytes })]
    };
    let size = |slot: u64, bytes: u64| json!({ "op": "set-size", "on": slot, "size": bytes });
    let unlink = |path: &str| json!({ "op": "unlink-file-at", "path": path });
    let rename = |path: &str, to: &str| json!({ "op": "rename-at", "path": path, "to": to });
    let link = |path: &str, to: &str| json!({ "op": "link-at", "path": path, "to": to });
    let truncate = |path: &str| open(path, &["truncate"], &["write"]);

    let cases: Vec<(&str, Vec<Value>, u64)> = vec![
        ("nothing", vec![], 0),
        ("unlinked", vec![unlink("f")], 600),
        ("emptied", vec![truncate("f")], 600),
        ("cut", vec![size(1, 100)], 500),
        ("truncated and grown", vec![size(1, 0), size(1, 600)], 0),
        ("replaced", vec![rename("g", "f")], 600),
        ("replaced by itself", vec![rename("f", "f")], 0),
        (
            "another name removed",
            vec![link("f", "again"), unlink("f")],
            0,
        ),
        (
            "every name removed",
            vec![link("f", "again"), unlink("f"), unlink("again")],
            600,
        ),
        (
            "replaced by its other name",
            vec![link("f", "again"), rename("f", "again")],
            0,
        ),
        (
            "a link to it removed",
            vec![
                json!({ "op": "symlink-at", "path": "l", "target": "f" }),
                unlink("l"),
            ],
            0,
        ),
        (
            "removed while open, then truncated",
            vec![unlink("f"), size(1, 0)],
            600,
        ),
        (
            "replaced while open, then truncated",
            vec![rename("g", "f"), size(1, 0)],
            600,
        ),
        (
            "removed while open, then grown",
            vec![unlink("f"), size(1, 900)],
            600,
        ),
        (
            "removed while open, then written",
            vec![
                unlink("f"),
                json!({ "op": "write", "on": 1, "bytes": 50, "offset": 600 }),
            ],
            600,
        ),
        (
            "removed, then truncated, repeatedly",
            {
                let mut steps = vec![unlink("f")];
                for slot in 3..9 {
                    steps.extend(make("f", slot, 400));
                    steps.extend([unlink("f"), size(slot, 0)]);
                }
                steps
            },
            600,
        ),
    ];
    for (what, freed, expected) in cases {
        let work = Work::new();
        let steps = [make("f", 1, 600), make("g", 2, 400), freed].concat();
        let left = bytes_left_after(&work, &steps).await;
        assert_eq!(left, expected, "{what}");
    }
}

#[tokio::test]
async fn usage_counts_the_bytes_read() {
    let work = Work::new();
    fs::write(work.path("f"), vec![b'x'; 1_000]).unwrap();
    let steps = [
        open("f", &[], &["read"]),
        json!({ "op": "read", "on": 1, "length": 300 }),
        json!({ "op": "read", "on": 1, "length": 9_999, "offset": 900 }),
        json!({ "op": "read", "on": 1, "length": 10, "offset": 5_000 }),
        json!({ "op": "read-via-stream", "on": 1, "as": 2 }),
        json!({ "op": "stream-read", "on": 2, "length": 50 }),
    ];
    let ran = script(&work.workdir, &steps, |_| ()).await;
    assert_codes(&steps, &ran, &["ok"; 6]);
    assert_eq!(ran.report.usage.bytes_read, 450);
    assert_eq!(
        (ran.report.usage.bytes_written, ran.report.usage.files_made),
        (0, 0)
    );
}
