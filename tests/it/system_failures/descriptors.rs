//! A process at its limit of open files.

use std::fs;

use serde_json::json;
use toolhost_tests::test_host::yaml;

use super::host_process::{HostProcess, bundle, events};

#[test]
fn a_process_without_file_descriptors_returns_errors_and_recovers() {
    let top = tempfile::tempdir().unwrap();
    let (state, work) = (top.path().join("state"), top.path().join("work"));
    fs::create_dir(&work).unwrap();
    let tools: &[_] = &[
        ("climb", "climb_out_of_workdir", &["run"] as &[&str]),
        ("text", "text", &["upper", "count", "fail"]),
    ];
    bundle(&top.path().join("bundle"), tools);
    let mut host = HostProcess::after("ulimit -n 128");
    host.must(json!({"op": "start", "state": state}));
    let load = json!({"op": "load", "bundle": top.path().join("bundle"), "work": work});
    host.must(load.clone());
    let (upper, args) = ("text__upper", json!({"text": "x"}));
    let write = json!({"op": "write", "paths": ["f"]});

    let held = host.must(json!({"op": "hoard"}))["held"].clone();
    assert!(held.as_u64().is_some_and(|held| held > 50), "{held}");
    // Calls that need no file succeed, the others return an error.
    assert_eq!(host.call(upper, args.clone())["output"]["text"], "X");
    let refused = host.call("climb__run", write.clone());
    assert_eq!(
        refused["output"]["results"][0]["error"], "ENOMEM",
        "{refused}"
    );
    assert!(!work.join("f").exists());
    let submit = json!({"op": "submit", "tool": upper, "args": args});
    let refused = host.must(submit)["result"].clone();
    assert_eq!(refused["error"]["code"], "E_HOST", "{refused}");
    let unloaded = host.send(load.clone());
    assert!(unloaded["error"].is_string(), "{unloaded}");
    host.must(json!({"op": "step"}));
    host.must(json!({"op": "flush"}));

    host.must(json!({"op": "release"}));
    assert_eq!(
        host.call("climb__run", write)["output"]["results"][0]["ok"],
        true
    );
    assert_eq!(fs::read_to_string(work.join("f")).unwrap(), "climbed");
    assert_eq!(host.submit_and_wait(upper, args)["output"]["text"], "X");
    host.must(load);
    let logged = host.must(json!({"op": "events", "state": state}));
    let events = events(logged.as_str().unwrap(), 0);
    let lost = events.iter().filter(|event| event["type"] == "log.lost");
    assert!(lost.count() > 0, "lost events are counted: {logged}");
}

#[test]
fn a_bundle_stays_protected_if_a_step_is_opened_without_file_descriptors() {
    let top = tempfile::tempdir().unwrap();
    let dir = top.path().join("bundle");
    bundle(
        &dir.join("tools"),
        &[("climb", "climb_out_of_workdir", &["run"])],
    );
    let manifest = yaml(&[("climb", "climb_out_of_workdir", &["run"])]).replace("./", "./tools/");
    fs::remove_file(dir.join("tools/goondan.yaml")).unwrap();
    fs::write(dir.join("goondan.yaml"), &manifest).unwrap();
    let entry = dir.join("tools/climb_out_of_workdir.wasm");
    let mut host = HostProcess::after("ulimit -n 128");
    host.must(json!({"op": "start", "state": top.path().join("state")}));
    // The workdir contains the bundle.
    let work = tempfile::tempdir().unwrap();
    let within = work.path().join("bundle");
    fs::rename(&dir, &within).unwrap();
    let entry_within = within.join(entry.strip_prefix(&dir).unwrap());
    host.must(json!({"op": "load", "bundle": within, "work": work.path()}));
    // As a build does: a new file with the same name.
    fs::copy(&entry_within, within.join("tools/new")).unwrap();
    fs::rename(within.join("tools/new"), &entry_within).unwrap();
    let before = fs::read(&entry_within).unwrap();

    host.must(json!({"op": "hoard"}));
    host.must(json!({"op": "step"}));
    host.must(json!({"op": "release"}));
    let paths = json!([
        "/bundle/tools/climb_out_of_workdir.wasm",
        "/bundle/goondan.yaml",
    ]);
    for op in ["write", "append", "truncate", "unlink", "rename_from"] {
        let done = host.call("climb__run", json!({"op": op, "paths": paths}));
        for attempt in done["output"]["results"].as_array().unwrap() {
            assert_eq!(attempt["ok"], false, "{op}: {attempt}");
        }
    }
    assert_eq!(fs::read(&entry_within).unwrap(), before);
    assert_eq!(
        fs::read_to_string(within.join("goondan.yaml")).unwrap(),
        manifest
    );
    let beside = host.call("climb__run", json!({"op": "write", "paths": ["/beside"]}));
    assert_eq!(beside["output"]["results"][0]["ok"], true, "{beside}");
}
