//! A full disk, and a read-only disk.

use std::path::Path;

use serde_json::{Value, json};
use toolhost_tests::test_host::TestTool;

use super::host_process::{HostProcess, bundle, events};

const TOOLS: &[TestTool<'_>] = &[
    ("files", "file-system", &["read", "write", "list", "mkdir"]),
    ("text", "text", &["upper", "count", "fail"]),
];

fn write(bytes: usize) -> Value {
    json!({"path": "note", "content": "n".repeat(bytes)})
}

#[test]
fn a_full_disk_gives_errors_and_leaves_complete_records() {
    let (top, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    bundle(top.path(), TOOLS);
    let mount = format!(
        "mount -t tmpfs -o size=4m tmpfs {0} && mkdir {0}/work",
        disk.path().display()
    );
    let Some(mut host) = HostProcess::after_mounting(&mount, disk.path()) else {
        return;
    };
    let path = |name: &str| disk.path().join(name);
    let (state, work, filler) = (path("state"), path("work"), path("filler"));
    host.must(json!({"op": "start", "state": state}));
    host.must(json!({"op": "load", "bundle": top.path(), "work": work}));
    let upper = json!({"text": "x"});
    assert_eq!(host.call("text__upper", upper.clone())["status"], "ok");
    host.must(json!({"op": "flush"}));

    host.must(json!({"op": "fill", "path": filler}));
    let full = host.call("files__write", write(100_000));
    assert_eq!(full["error"]["code"], "E_TOOL_DISK_LIMIT", "{full}");
    let suggestion = full["error"]["suggestion"].as_str().unwrap();
    assert!(suggestion.ends_with("the disk is full."), "{suggestion}");
    // Calls that need no disk succeed.
    assert_eq!(
        host.call("text__upper", upper.clone())["output"]["text"],
        "X"
    );
    let submit = json!({"op": "submit", "tool": "text__upper", "args": upper});
    let refused = host.must(submit)["result"].clone();
    assert_eq!(refused["error"]["code"], "E_HOST", "{refused}");
    host.must(json!({"op": "flush"}));

    host.must(json!({"op": "remove", "path": filler}));
    assert_eq!(host.call("files__write", write(100_000))["status"], "ok");
    let read = host.call("files__read", json!({"path": "note"}));
    assert_eq!(read["status"], "ok", "{read}");
    assert_eq!(
        host.submit_and_wait("text__upper", upper.clone())["output"]["text"],
        "X"
    );

    // The store is open, and the disk becomes full while it is used.
    host.must(json!({"op": "fill", "path": filler}));
    let mut refused = 0;
    for _ in 0..20 {
        let submit = json!({"op": "submit", "tool": "text__upper", "args": upper});
        let result = host.must(submit)["result"].clone();
        if result["status"] == "error" {
            assert_eq!(result["error"]["code"], "E_HOST", "{result}");
            refused += 1;
        }
    }
    assert!(refused > 0, "some calls were refused");
    host.must(json!({"op": "remove", "path": filler}));
    assert_eq!(
        host.submit_and_wait("text__upper", upper)["output"]["text"],
        "X"
    );
    let logged = host.must(json!({"op": "events", "state": state}));
    let events = events(logged.as_str().unwrap(), 2);
    assert!(
        events.iter().any(|event| event["type"] == "log.lost"),
        "{logged}"
    );
}

#[test]
fn a_commit_on_a_full_disk_takes_the_room_of_undo_records_or_says_that_there_is_none() {
    let (top, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    bundle(top.path(), TOOLS);
    let mount = format!(
        "mount -t tmpfs -o size=4m tmpfs {0} && mkdir {0}/work",
        disk.path().display()
    );
    let Some(mut host) = HostProcess::after_mounting(&mount, disk.path()) else {
        return;
    };
    let path = |name: &str| disk.path().join(name);
    let start = |state: &str| {
        json!({
            "op": "start", "state": path(state), "policy": "defaults: {workdir: transactional}",
        })
    };
    let load = json!({"op": "load", "bundle": top.path(), "work": path("work")});
    let mkdir = |name: &str| json!({"path": name});
    for (state, result) in [("with-records", "ok"), ("without", "error")] {
        host.must(start(state));
        host.must(load.clone());
        if result == "ok" {
            // The second one keeps what the first one has written.
            for _ in 0..2 {
                assert_eq!(host.call("files__write", write(100_000))["status"], "ok");
            }
        }
        host.must(json!({"op": "fill", "path": path("filler")}));
        let made = host.call("files__mkdir", mkdir(state));
        assert_eq!(made["status"], result, "{made}");
        host.must(json!({"op": "remove", "path": path("filler")}));
        let listed = host.call("files__list", json!({"path": "."}))["output"].to_string();
        assert_eq!(listed.contains(state), result == "ok", "{listed}");
        if result == "error" {
            assert_eq!(made["error"]["code"], "E_TOOL_DISK_LIMIT", "{made}");
            assert_eq!(host.call("files__mkdir", mkdir(state))["status"], "ok");
        }
    }
}

fn read_only(dirs: &[&Path]) -> String {
    let mounts = dirs.iter().map(|dir| {
        let dir = dir.display();
        format!("mount --bind {dir} {dir} && mount -o remount,bind,ro {dir}")
    });
    mounts.collect::<Vec<_>>().join(" && ")
}

#[test]
fn calls_run_with_a_read_only_state_root_and_cache() {
    let top = tempfile::tempdir().unwrap();
    let path = |name: &str| top.path().join(name);
    bundle(
        &path("bundle"),
        &[("trap", "trap", &["run"]), ("text", "text", &["upper"])],
    );
    for dir in ["state", "cache", "keys", "work"] {
        std::fs::create_dir(path(dir)).unwrap();
    }
    let start = json!({
        "op": "start", "state": path("state"), "cache": path("cache"), "keys": path("keys"),
    });
    let load = json!({"op": "load", "bundle": path("bundle"), "work": path("work")});
    let (state, cache, keys) = (path("state"), path("cache"), path("keys"));
    let closed = read_only(&[&state, &cache, &keys]);

    // Without a key the cache cannot be used, which is an error and not ignored.
    let Some(mut host) = HostProcess::after_mounting(&closed, &state) else {
        return;
    };
    let refused = host.send(start.clone());
    let says = refused["error"].as_str().unwrap();
    assert!(
        says.contains("sandbox cannot start") || says.contains("cache"),
        "{says}"
    );
    drop(host);

    // Twice: with an empty cache, where each start compiles, and with a filled cache.
    let mut key = HostProcess::after("true");
    key.must(start.clone());
    for filled in [false, true] {
        if filled {
            key.must(load.clone());
        }
        let before = (names(&cache), names(&state));
        assert_eq!(before.0 > 0, filled);
        let mut host = HostProcess::after_mounting(&closed, &state).unwrap();
        host.must(start.clone());
        host.must(load.clone());
        let upper = json!({"text": "x"});
        assert_eq!(
            host.call("text__upper", upper.clone())["output"]["text"],
            "X"
        );
        let trapped = host.call("trap__run", json!({}));
        assert_eq!(trapped["error"]["code"], "E_TOOL_TRAP");
        let submit = json!({"op": "submit", "tool": "text__upper", "args": upper});
        let refused = host.must(submit)["result"].clone();
        assert_eq!(refused["error"]["code"], "E_HOST", "{refused}");
        host.must(json!({"op": "flush"}));
        assert_eq!((names(&cache), names(&state)), before);
    }
}

fn names(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}
