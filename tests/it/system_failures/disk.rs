//! A disk that is full, and one that may not be written.

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
fn a_full_disk_is_told_and_what_was_kept_is_whole() {
    let (top, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    bundle(top.path(), TOOLS);
    let mount = format!(
        "mount -t tmpfs -o size=4m tmpfs {0} && mkdir {0}/work",
        disk.path().display()
    );
    let Some(mut host) = HostProcess::after_mounting(&mount, disk.path()) else {
        return;
    };
    let place = |name: &str| disk.path().join(name);
    let (state, work, filler) = (place("state"), place("work"), place("filler"));
    host.must(json!({"op": "start", "state": state}));
    host.must(json!({"op": "load", "bundle": top.path(), "work": work}));
    let upper = json!({"text": "x"});
    assert_eq!(host.call("text__upper", upper.clone())["status"], "ok");
    host.must(json!({"op": "flush"}));

    host.must(json!({"op": "fill", "path": filler}));
    let full = host.call("files__write", write(100_000));
    assert_eq!(full["error"]["code"], "E_TOOL_DISK_LIMIT", "{full}");
    let told = full["error"]["suggestion"].as_str().unwrap();
    assert!(told.ends_with("the disk is full."), "{told}");
    // What needs no disk is answered as ever.
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
        host.submitted("text__upper", upper.clone())["output"]["text"],
        "X"
    );

    // The store is open by now, and full again in the middle of its work.
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
    assert!(refused > 0, "there was no room");
    host.must(json!({"op": "remove", "path": filler}));
    assert_eq!(host.submitted("text__upper", upper)["output"]["text"], "X");
    let logged = host.must(json!({"op": "events", "state": state}));
    let events = events(logged.as_str().unwrap(), 2);
    assert!(
        events.iter().any(|event| event["type"] == "log.lost"),
        "{logged}"
    );
}

fn read_only(dirs: &[&Path]) -> String {
    let mounts = dirs.iter().map(|dir| {
        let dir = dir.display();
        format!("mount --bind {dir} {dir} && mount -o remount,bind,ro {dir}")
    });
    mounts.collect::<Vec<_>>().join(" && ")
}

#[test]
fn a_state_root_and_a_cache_that_may_not_be_written_stop_no_call() {
    let top = tempfile::tempdir().unwrap();
    let place = |name: &str| top.path().join(name);
    bundle(
        &place("bundle"),
        &[("trap", "trap", &["run"]), ("text", "text", &["upper"])],
    );
    for dir in ["state", "cache", "keys", "work"] {
        std::fs::create_dir(place(dir)).unwrap();
    }
    let start = json!({
        "op": "start", "state": place("state"), "cache": place("cache"), "keys": place("keys"),
    });
    let load = json!({"op": "load", "bundle": place("bundle"), "work": place("work")});
    let (state, cache, keys) = (place("state"), place("cache"), place("keys"));
    let closed = read_only(&[&state, &cache, &keys]);

    // Without a key there is no cache, which is said and not passed over.
    let Some(mut host) = HostProcess::after_mounting(&closed, &state) else {
        return;
    };
    let refused = host.tell(start.clone());
    let says = refused["error"].as_str().unwrap();
    assert!(
        says.contains("sandbox cannot start") || says.contains("cache"),
        "{says}"
    );
    drop(host);

    // Twice: with an empty cache, where each start compiles, and with a filled one.
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
