//! Timestamps: the host sees the times that a guest sets.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolhost_sandbox::Outcome;
use toolhost_tests::Work;

use super::probe::{check, furnished, open, script};

/// Returns the access and modification time of a name, in seconds and nanoseconds.
fn times(work: &Work, path: &str) -> [(i64, i64); 2] {
    let it = fs::symlink_metadata(work.path(path)).unwrap();
    [(it.atime(), it.atime_nsec()), (it.mtime(), it.mtime_nsec())]
}

fn recent((seconds, _): (i64, i64)) -> bool {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    (now - 60..=now).contains(&seconds.unsigned_abs())
}

#[tokio::test]
async fn times_can_be_set_on_a_handle_and_on_a_name() {
    let at =
        |seconds: u64, nanoseconds: u32| json!({ "seconds": seconds, "nanoseconds": nanoseconds });
    for path in ["file", "dir", "link", "dangling", "."] {
        let by_name =
            |follow: bool| json!({ "op": "set-times-at", "path": path, "follow": follow });
        let mut cases = vec![by_name(false)];
        if ["file", "dir", "."].contains(&path) {
            cases.push(by_name(true));
            cases.push(json!({ "op": "set-times", "on": 1 }));
        }
        if path == "." {
            cases.push(json!({ "op": "set-times", "on": 0 }));
        }
        for case in cases {
            let work = furnished();
            let set = async |accessed: Value, modified: Value| {
                let mut step = case.clone();
                step["accessed"] = accessed;
                step["modified"] = modified;
                let mut cases = vec![(step, json!({}))];
                if case["on"] == 1 {
                    cases.insert(
                        0,
                        (json!({ "op": "open-at", "path": path, "as": 1 }), json!({})),
                    );
                }
                check(&work, &cases).await;
                times(&work, path)
            };
            let both = set(at(1_000, 1), at(2_000, 999_999_999)).await;
            assert_eq!(both, [(1_000, 1), (2_000, 999_999_999)], "{case}");
            let first = set(at(0, 0), json!("no-change")).await;
            assert_eq!(first, [(0, 0), (2_000, 999_999_999)], "{case}");
            let second = set(Value::Null, at(3_000, 0)).await;
            assert_eq!(second, [(0, 0), (3_000, 0)], "{case}");
            let [accessed, modified] = set(json!("now"), json!("no-change")).await;
            assert!(recent(accessed) && modified == (3_000, 0), "{case}");
            let [_, modified] = set(json!("no-change"), json!("now")).await;
            assert!(recent(modified), "{case}");
        }
    }
}

#[tokio::test]
async fn setting_times_through_a_symlink_changes_its_target() {
    let work = furnished();
    let (link, file) = (times(&work, "link")[1], times(&work, "file")[1]);
    let step = |path: &str, follow: bool, seconds: u64| json!({ "op": "set-times-at", "path": path, "follow": follow, "modified": { "seconds": seconds } });
    check(&work, &[(step("link", true, 7), json!({}))]).await;
    assert_eq!(
        (times(&work, "link")[1], times(&work, "file")[1]),
        (link, (7, 0))
    );
    check(&work, &[(step("link", false, 8), json!({}))]).await;
    assert_eq!(
        (times(&work, "link")[1], times(&work, "file")[1]),
        ((8, 0), (7, 0))
    );
    assert_ne!(file, (7, 0));
    let refused = [
        (step("dangling", true, 9), json!("no-entry")),
        (step("none", false, 9), json!("no-entry")),
        (step("file/", false, 9), json!("not-directory")),
        (step("", false, 9), json!("no-entry")),
    ];
    check(&work, &refused).await;
}

#[tokio::test]
async fn extreme_times_return_an_error_or_the_nearest_time() {
    let cases = [
        (u64::MAX, 0, "overflow"),
        (1 << 63, 0, "overflow"),
        (0, 1_000_000_000, "invalid"),
        // The nanosecond values that mean "now" and "unchanged" to the system.
        (0, (1 << 30) - 1, "invalid"),
        (0, (1 << 30) - 2, "invalid"),
        (0, u32::MAX, "invalid"),
        (u64::MAX, u32::MAX, "invalid"),
        // The system's types can hold it and the file system cannot: it stores the largest time it can.
        ((1 << 63) - 1, 999_999_999, "ok"),
        (1 << 40, 0, "ok"),
    ];
    for (seconds, nanoseconds, expected) in cases {
        let work = furnished();
        let before = times(&work, "file")[1];
        let time = json!({ "seconds": seconds, "nanoseconds": nanoseconds });
        let steps = [
            open("file", &[], &["write"]),
            json!({ "op": "set-times", "on": 1, "modified": time }),
            json!({ "op": "set-times", "on": 1, "accessed": time }),
            json!({ "op": "set-times-at", "path": "file", "modified": time }),
            json!({ "op": "set-times-at", "path": "file", "accessed": time }),
            json!({ "op": "stat", "on": 1 }),
            json!({ "op": "metadata-hash", "on": 1 }),
        ];
        let ran = script(&work.workdir, &steps, |_| ()).await;
        let codes = ["ok", expected, expected, expected, expected, "ok", "ok"];
        assert_eq!(ran.codes(), codes, "{seconds} s, {nanoseconds} ns");
        assert!(matches!(ran.report.outcome, Ok(Outcome::Output(_))));
        if expected != "ok" {
            assert_eq!(times(&work, "file")[1], before);
        }
    }
}

#[tokio::test]
async fn a_time_before_1970_is_not_reported() {
    let work = furnished();
    for before in [
        Duration::new(1, 0),
        Duration::new(0, 1),
        Duration::new(1_000_000_000, 5),
    ] {
        for path in ["file", "dir"] {
            let file = fs::File::open(work.path(path)).unwrap();
            let time = UNIX_EPOCH - before;
            file.set_times(fs::FileTimes::new().set_modified(time).set_accessed(time))
                .unwrap();
            assert!(times(&work, path)[1].0 < 0);
            let untold = json!({ "accessed": null, "modified": null });
            let cases = [
                (json!({ "op": "stat-at", "path": path }), untold.clone()),
                (json!({ "op": "open-at", "path": path, "as": 1 }), json!({})),
                (json!({ "op": "stat", "on": 1 }), untold),
                (json!({ "op": "metadata-hash", "on": 1 }), json!({})),
                (json!({ "op": "list" }), json!({})),
            ];
            check(&work, &cases).await;
        }
    }
}
