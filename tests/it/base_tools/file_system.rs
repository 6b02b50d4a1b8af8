//! `file-system` on files and folders that are too large for a case of `guest-examples/base/tests`.

use std::fs;

use serde_json::{Value, json};
use toolhost_tests::test_host::TestHost;

use super::{fails, output};

async fn file_system(exports: &[&str]) -> TestHost {
    TestHost::with_tools(&[("fs", "file-system", exports)], "").await
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    const FILES: usize = 30_000;
    let host = file_system(&["list", "glob"]).await;
    let folder = host.work.path("many");
    fs::create_dir(&folder).unwrap();
    for number in 0..FILES {
        fs::File::create(folder.join(format!("{number:05}"))).unwrap();
    }
    let first = host.call("fs__list", json!({"path": "many"})).await;
    let first = output(&first);
    assert_eq!(first["count"], 1000);
    assert_eq!(first["remaining"], FILES);
    assert_eq!(first["truncated"], true);
    assert_eq!(first["entries"][999]["name"], "00999");

    let (mut names, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut args = json!({"path": "many", "pattern": "*", "limit": 10_000});
        if cursor.is_string() {
            args["cursor"] = cursor;
        }
        let page = host.call("fs__glob", args).await;
        let page = output(&page);
        names.extend(page["files"].as_array().unwrap().clone());
        if page["truncated"] == false {
            break;
        }
        cursor = page["cursor"].clone();
    }
    let expected = (0..FILES).map(|number| json!(format!("/many/{number:05}")));
    assert!(names.into_iter().eq(expected));
}

#[tokio::test]
async fn a_long_file_is_read_in_parts_that_fit() {
    let host = file_system(&["read"]).await;
    let text: String = (0..60_000)
        .map(|number| format!("line {number:05} é \"quoted\" {}\n", "x".repeat(30)))
        .collect();
    assert!(text.len() > 3_000_000);
    fs::write(host.work.path("long.txt"), &text).unwrap();
    // The second megabyte.
    let args = json!({"path": "long.txt", "unit": "bytes", "offset": 1 << 20, "limit": 1 << 20});
    let result = host.call("fs__read", args).await;
    let part = output(&result);
    let (start, count) = (
        part["offset"].as_u64().unwrap() as usize,
        part["count"].as_u64().unwrap() as usize,
    );
    assert_eq!(part["content"], *text.get(start..start + count).unwrap());
    assert!((1 << 20) - start < 4 && count > 800_000, "{start} {count}");
    assert_eq!(
        part["next"],
        json!({"unit": "bytes", "offset": start + count})
    );

    // All of it, by what each part says is next.
    let (mut whole, mut next) = (String::new(), json!({"unit": "lines", "offset": 1}));
    while next.is_object() {
        let args = json!({"path": "long.txt", "unit": next["unit"], "offset": next["offset"], "maxBytes": 5_000_000});
        let result = host.call("fs__read", args).await;
        let part = output(&result);
        assert_eq!(part["totalLines"], 60_000);
        whole.push_str(part["content"].as_str().unwrap());
        next = part["next"].clone();
    }
    assert!(whole == text);

    let beyond = host
        .call("fs__read", json!({"path": "long.txt", "offset": 60_002}))
        .await;
    fails(&beyond, "OUT_OF_RANGE", "60000 lines");
}

#[tokio::test]
async fn a_part_whose_json_is_longer_than_a_result_is_shortened() {
    let host = file_system(&["read"]).await;
    let controls = "\u{1}".repeat(800_000);
    fs::write(host.work.path("controls"), &controls).unwrap();
    let mut at = 0;
    for unit in ["lines", "bytes"] {
        let args = json!({"path": "controls", "unit": unit, "offset": at, "maxBytes": 900_000});
        let result = host.call("fs__read", args).await;
        let part = output(&result);
        let content = part["content"].as_str().unwrap();
        assert!(content.len() > 50_000 && controls.get(at..).unwrap().starts_with(content));
        at += content.len();
        assert_eq!(part["next"], json!({"unit": "bytes", "offset": at}));
    }
}

#[tokio::test]
async fn a_search_of_long_lines_shows_the_part_around_the_match() {
    let host = file_system(&["grep"]).await;
    let line = format!("{}needle{}", "é".repeat(5000), "z".repeat(5000));
    fs::write(host.work.path("min.js"), format!("{line}\n").repeat(1000)).unwrap();
    let result = host
        .call("fs__grep", json!({"pattern": "needle", "limit": 1000}))
        .await;
    let found = output(&result);
    assert_eq!(found["truncated"], true);
    assert_eq!(found["reason"], "size");
    let line = &found["files"][0]["lines"][0];
    assert_eq!(line["cut"], true);
    assert!(line["text"].as_str().unwrap().contains("ééneedlezz"));
}

#[tokio::test]
async fn an_edit_a_patch_and_a_copy_keep_the_mode_of_a_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let host = file_system(&["edit", "apply-patch", "copy", "stat"]).await;
    let script = host.work.path("run.sh");
    fs::write(&script, "echo hi\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let edit = json!({"path": "run.sh", "old": "hi", "new": "ho"});
    output(&host.call("fs__edit", edit).await);
    let patch = "*** Begin Patch\n*** Update File: run.sh\n*** Move to: bin/run.sh\n@@\n-echo ho\n+echo hu\n*** End Patch\n";
    output(&host.call("fs__apply-patch", json!({"patch": patch})).await);
    let script = host.work.path("bin/run.sh");
    assert_eq!(fs::read_to_string(&script).unwrap(), "echo hu\n");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(script), 0o755);
    let plain = host.work.path("plain");
    fs::write(&plain, "old\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    for (to, expected) in [("new.sh", 0o755), ("plain", 0o644)] {
        let args = json!({"from": "bin/run.sh", "to": to, "overwrite": true});
        output(&host.call("fs__copy", args).await);
        assert_eq!(mode(host.work.path(to)), expected, "{to}");
        let content = fs::read_to_string(host.work.path(to)).unwrap();
        assert_eq!(content, "echo hu\n");
    }
    let stat = host.call("fs__stat", json!({"path": "bin/run.sh"})).await;
    assert_eq!(output(&stat)["mode"], "755");
}

#[tokio::test]
async fn what_lies_outside_is_neither_read_nor_changed() {
    let host = file_system(&[
        "edit",
        "move",
        "copy",
        "remove",
        "stat",
        "grep",
        "glob",
        "apply-patch",
    ])
    .await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.txt"), "secret\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), host.work.path("out")).unwrap();
    fs::write(host.work.path("mine.txt"), "mine\n").unwrap();
    let patch = |path| {
        format!("*** Begin Patch\n*** Update File: {path}\n@@\n-secret\n+open\n*** End Patch\n")
    };
    for (tool, args) in [
        (
            "fs__edit",
            json!({"path": "out/secret.txt", "old": "secret", "new": "open"}),
        ),
        ("fs__move", json!({"from": "out/secret.txt", "to": "a.txt"})),
        (
            "fs__move",
            json!({"from": "mine.txt", "to": "out/mine.txt"}),
        ),
        ("fs__move", json!({"from": "mine.txt", "to": "../mine.txt"})),
        (
            "fs__copy",
            json!({"from": "out", "to": "copy", "recursive": true}),
        ),
        (
            "fs__copy",
            json!({"from": "mine.txt", "to": "out/secret.txt", "overwrite": true}),
        ),
        ("fs__remove", json!({"path": "out/secret.txt"})),
        ("fs__stat", json!({"path": "out/secret.txt"})),
        ("fs__grep", json!({"pattern": "secret", "path": "out"})),
        ("fs__glob", json!({"pattern": "*", "path": "out"})),
        ("fs__apply-patch", json!({"patch": patch("out/secret.txt")})),
        ("fs__apply-patch", json!({"patch": patch("../secret.txt")})),
    ] {
        let result = host.call(tool, args.clone()).await;
        assert!(result.tool_error().is_some(), "{tool} {args}: {result:?}");
    }
    for (tool, args) in [
        ("fs__grep", json!({"pattern": "secret"})),
        ("fs__glob", json!({"pattern": "secret*"})),
    ] {
        let result = host.call(tool, args).await;
        assert_eq!(output(&result)["count"], 0, "{tool}");
    }
    // A link is removed, and not what it leads to.
    output(
        &host
            .call("fs__remove", json!({"path": "out", "recursive": true}))
            .await,
    );
    assert!(!host.work.path("out").exists());
    assert_eq!(
        fs::read_to_string(outside.path().join("secret.txt")).unwrap(),
        "secret\n"
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(
        fs::read_to_string(host.work.path("mine.txt")).unwrap(),
        "mine\n"
    );
}
