//! Names: listing, creating, moving, linking and removing them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::{Mode, OFlags, openat};
use serde_json::{Value, json};

use super::probe::{assert_codes, check, furnished, open, script};
use super::snapshot::tree;

fn stat_of(metadata: &fs::Metadata) -> Value {
    let time =
        |seconds: i64, nanoseconds: i64| json!({ "seconds": seconds, "nanoseconds": nanoseconds });
    let kind = match metadata.file_type() {
        kind if kind.is_dir() => "directory",
        kind if kind.is_symlink() => "symbolic-link",
        _ => "regular-file",
    };
    json!({
        "type": kind,
        "linkCount": metadata.nlink(),
        "size": metadata.len(),
        "accessed": time(metadata.atime(), metadata.atime_nsec()),
        "modified": time(metadata.mtime(), metadata.mtime_nsec()),
        "changed": time(metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[tokio::test]
async fn stat_returns_what_the_host_sees() {
    let work = furnished();
    let paths = [
        "file",
        "hard",
        "dir",
        "dir/sub",
        "dir/inner",
        "link",
        "dirlink",
        "dirlink/",
        "dirlink/.",
        "dirlink/inner",
        ".",
        "./file",
        "dir/../file",
        "dir/./inner",
        "dir//inner",
        "dir/sub/..",
    ];
    for path in paths {
        let followed = stat_of(&fs::metadata(work.path(path)).unwrap());
        let mut itself = stat_of(&fs::symlink_metadata(work.path(path)).unwrap());
        if itself["type"] == "symbolic-link" {
            // Following a link is an access.
            itself.as_object_mut().unwrap().remove("accessed");
        }
        check(
            &work,
            &[
                (
                    json!({ "op": "stat-at", "path": path, "follow": true }),
                    followed.clone(),
                ),
                (json!({ "op": "stat-at", "path": path }), itself),
                (
                    json!({ "op": "open-at", "path": path, "follow": true, "as": 1 }),
                    json!({}),
                ),
                (json!({ "op": "stat", "on": 1 }), followed.clone()),
                (
                    json!({ "op": "get-type", "on": 1 }),
                    json!({ "type": followed["type"] }),
                ),
            ],
        )
        .await;
    }
    for (path, followed, itself) in [
        ("dangling", "no-entry", "ok"),
        ("none", "no-entry", "no-entry"),
        ("file/x", "not-directory", "not-directory"),
        ("file/", "not-directory", "not-directory"),
        ("file/.", "not-directory", "not-directory"),
        ("dir/inner/", "not-directory", "not-directory"),
        ("link/", "not-directory", "not-directory"),
        ("dangling/", "no-entry", "no-entry"),
        ("", "no-entry", "no-entry"),
    ] {
        let steps = [
            json!({ "op": "stat-at", "path": path, "follow": true }),
            json!({ "op": "stat-at", "path": path }),
        ];
        let ran = script(&work.workdir, &steps, |_| ()).await;
        assert_eq!(ran.codes(), [followed, itself], "{path}");
    }
}

#[tokio::test]
async fn listings_return_the_names_that_the_host_sees() {
    let work = furnished();
    let results = check(
        &work,
        &[
            (json!({ "op": "list" }), json!({})),
            (open("dir", &["directory"], &["read"]), json!({})),
            (
                json!({ "op": "list", "on": 1 }),
                json!({ "entries": [
                { "name": "inner", "type": "regular-file" }, { "name": "sub", "type": "directory" },
            ] }),
            ),
            // Two listings of one handle are independent.
            (
                json!({ "op": "read-directory", "on": 1, "as": 2 }),
                json!({}),
            ),
            (json!({ "op": "read-directory-entry", "on": 2 }), json!({})),
            (json!({ "op": "list", "on": 1 }), json!({})),
            (json!({ "op": "read-directory-entry", "on": 2 }), json!({})),
            (
                json!({ "op": "read-directory-entry", "on": 2 }),
                json!({ "end": true }),
            ),
            (
                json!({ "op": "read-directory-entry", "on": 2 }),
                json!({ "end": true }),
            ),
        ],
    )
    .await;
    let mut host: Vec<Value> = fs::read_dir(work.dir.path())
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let kind = &stat_of(&entry.metadata().unwrap())["type"];
            json!({ "name": entry.file_name().to_str().unwrap(), "type": kind })
        })
        .collect();
    host.sort_by_key(|entry| entry["name"].to_string());
    assert_eq!(results[0]["entries"], json!(host));
    assert_eq!(results[5]["entries"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn directories_can_be_created_and_removed() {
    let cases = [
        ("create-directory-at", "new", "ok"),
        ("create-directory-at", "new/", "exist"),
        ("create-directory-at", "slashed/", "ok"),
        ("create-directory-at", "dots/.", "no-entry"),
        ("create-directory-at", "new/deep/er", "no-entry"),
        ("create-directory-at", "dirlink/through", "ok"),
        ("create-directory-at", "dir", "exist"),
        ("create-directory-at", "file", "exist"),
        ("create-directory-at", "dangling", "exist"),
        ("create-directory-at", "file/x", "not-directory"),
        ("create-directory-at", "", "no-entry"),
        ("create-directory-at", ".", "exist"),
        ("remove-directory-at", "dir", "not-empty"),
        ("remove-directory-at", "file", "not-directory"),
        ("remove-directory-at", "file/", "not-directory"),
        ("remove-directory-at", "dirlink", "not-directory"),
        ("remove-directory-at", "dirlink/", "not-directory"),
        ("remove-directory-at", "none", "no-entry"),
        ("remove-directory-at", ".", "invalid"),
        ("remove-directory-at", "dir/sub/.", "invalid"),
        ("remove-directory-at", "dir/sub/..", "invalid"),
        ("remove-directory-at", "", "no-entry"),
        ("remove-directory-at", "new", "ok"),
        ("remove-directory-at", "slashed/", "ok"),
        ("remove-directory-at", "dir/through", "ok"),
        ("unlink-file-at", "dir", "is-directory"),
        ("unlink-file-at", "dir/", "is-directory"),
        ("unlink-file-at", ".", "is-directory"),
        ("unlink-file-at", "file/", "not-directory"),
        ("unlink-file-at", "link/", "not-directory"),
        ("unlink-file-at", "dirlink/", "not-directory"),
        ("unlink-file-at", "none", "no-entry"),
        ("unlink-file-at", "", "no-entry"),
        ("unlink-file-at", "dirlink", "ok"),
        ("unlink-file-at", "dangling", "ok"),
        ("unlink-file-at", "hard", "ok"),
        ("unlink-file-at", "dir/inner", "ok"),
    ];
    let work = furnished();
    let steps = cases.map(|(op, path, _)| json!({ "op": op, "path": path }));
    let ran = script(&work.workdir, &steps, |_| ()).await;
    assert_codes(&steps, &ran, &cases.map(|(.., expected)| expected));
    let mut names: Vec<_> = tree(work.dir.path(), None).into_keys().collect();
    names.sort();
    let left = ["", "dir", "dir/sub", "file", "link"].map(PathBuf::from);
    assert_eq!(names, left);
    assert_eq!(fs::read(work.path("file")).unwrap(), b"hello");
}

#[tokio::test]
async fn folders_can_nest_deeper_than_the_longest_path() {
    const DEPTH: usize = 10_000;
    let work = furnished();
    let mut steps = vec![json!({ "op": "open-at", "path": ".", "as": 1 })];
    for _ in 0..DEPTH {
        steps.push(json!({ "op": "create-directory-at", "path": "n", "on": 1 }));
        steps.push(json!({ "op": "open-at", "path": "n", "on": 1, "as": 1 }));
    }
    steps.push(json!({ "op": "stat-at", "path": "n/".repeat(DEPTH), "follow": true }));
    steps.push(json!({ "op": "stat-at", "path": "n/".repeat(1_000), "follow": true }));
    steps.push(json!({ "op": "stat-at", "path": "..", "on": 1 }));
    steps.push(json!({ "op": "list", "on": 1 }));
    let ran = script(&work.workdir, &steps, |_| ()).await;
    let mut expected = vec!["ok"; 1 + 2 * DEPTH];
    expected.extend(["name-too-long", "ok", "not-permitted", "ok"]);
    assert_codes(&steps, &ran, &expected);
    assert_eq!(ran.report.usage.files_made, DEPTH as u64);
    let mut deepest = fs::File::open(work.dir.path()).unwrap();
    let mut depth = 0;
    while let Ok(next) = openat(&deepest, "n", OFlags::PATH, Mode::empty()) {
        deepest = next.into();
        depth += 1;
    }
    assert_eq!(depth, DEPTH);
    // std would keep a descriptor open for every folder.
    let removed = Command::new("rm")
        .arg("-rf")
        .arg(work.path("n"))
        .status()
        .unwrap();
    assert!(removed.success());
}

#[tokio::test]
async fn renaming_replaces_what_the_host_would_replace() {
    // Source, target, and expected result.
    let cases = [
        ("file", "moved", "ok"),
        ("moved", "dir/inner", "ok"),
        ("dir/inner", "dirlink/through", "ok"),
        ("dir/through", "file", "ok"),
        ("file", "file", "ok"),
        ("none", "x", "no-entry"),
        ("file", "none/x", "no-entry"),
        ("file", "dir", "is-directory"),
        ("file", "new/", "not-directory"),
        ("file/", "new", "not-directory"),
        ("file", "link/", "not-directory"),
        ("dir", "file", "not-directory"),
        ("dir", "dir/sub/in_itself", "invalid"),
        ("dir", "link", "not-directory"),
        ("dirlink/", "x", "not-directory"),
        (".", "x", "busy"),
        ("file", ".", "busy"),
        ("dir/..", "x", "busy"),
        ("", "x", "no-entry"),
        ("file", "", "no-entry"),
        ("dir/sub", "empty", "ok"),
        ("empty/", "dir/sub/", "ok"),
        ("link", "dir/link", "ok"),
        ("dangling", "dirlink", "ok"),
    ];
    let work = furnished();
    let inode = fs::metadata(work.path("file")).unwrap().ino();
    let steps = cases.map(|(from, to, _)| json!({ "op": "rename-at", "path": from, "to": to }));
    let ran = script(&work.workdir, &steps, |_| ()).await;
    assert_codes(&steps, &ran, &cases.map(|(.., expected)| expected));

    let names: Vec<_> = tree(work.dir.path(), None).into_keys().collect();
    let left = ["", "dir", "dir/link", "dir/sub", "dirlink", "file", "hard"].map(PathBuf::from);
    assert_eq!(names, left);
    assert_eq!(
        fs::metadata(work.path("file")).unwrap().ino(),
        inode,
        "the same file"
    );
    assert_eq!(
        fs::read_link(work.path("dirlink")).unwrap(),
        PathBuf::from("nothing")
    );
}

#[tokio::test]
async fn hard_links_name_the_same_file() {
    let cases = [
        ("file", "again", "ok"),
        ("dir/inner", "dirlink/also", "ok"),
        ("link", "link_itself", "ok"),
        ("dangling", "dangling_itself", "ok"),
        ("file", "dir", "exist"),
        ("file", "again", "exist"),
        ("file", "dangling", "exist"),
        ("dir", "dir_again", "not-permitted"),
        ("dir/", "dir_again", "not-permitted"),
        (".", "root_again", "not-permitted"),
        ("none", "x", "no-entry"),
        ("file/", "x", "not-directory"),
        ("link/", "x", "not-directory"),
        ("file", "x/", "no-entry"),
        ("", "x", "no-entry"),
        ("file", "", "no-entry"),
    ];
    let work = furnished();
    let mut steps =
        Vec::from(cases.map(|(from, to, _)| json!({ "op": "link-at", "path": from, "to": to })));
    let mut expected = Vec::from(cases.map(|(.., expected)| expected));
    steps.push(json!({ "op": "link-at", "path": "link", "to": "followed", "follow": true }));
    expected.push("invalid");
    let ran = script(&work.workdir, &steps, |_| ()).await;
    assert_codes(&steps, &ran, &expected);

    let stat = |path: &str| fs::symlink_metadata(work.path(path)).unwrap();
    for (one, other, links) in [
        ("file", "again", 3),
        ("dir/inner", "dir/also", 2),
        ("link", "link_itself", 2),
        ("dangling", "dangling_itself", 2),
    ] {
        assert_eq!(stat(one).ino(), stat(other).ino(), "{one}");
        assert_eq!(stat(one).nlink(), links, "{one}");
    }
    for absent in ["dir_again", "root_again", "x", "followed"] {
        assert!(!work.path(absent).exists(), "{absent}");
    }
}

#[tokio::test]
async fn symlinks_can_be_created_and_read() {
    let cases = [
        ("file", "one", "ok"),
        ("dir/inner", "two", "ok"),
        ("../file", "dir/three", "ok"),
        ("no such thing \u{2603}", "four", "ok"),
        ("file", "one", "exist"),
        ("file", "dir", "exist"),
        ("file", "dangling", "exist"),
        ("file", "x/", "no-entry"),
        ("file", "none/x", "no-entry"),
        ("file", "", "no-entry"),
        ("", "x", "no-entry"),
        ("a\0b", "x", "invalid"),
        ("/file", "x", "not-permitted"),
        ("/", "x", "not-permitted"),
    ];
    let work = furnished();
    let steps = cases
        .map(|(target, path, _)| json!({ "op": "symlink-at", "target": target, "path": path }));
    let ran = script(&work.workdir, &steps, |_| ()).await;
    assert_codes(&steps, &ran, &cases.map(|(.., expected)| expected));
    assert!(!work.path("x").is_symlink());

    for (target, path, _) in &cases[..4] {
        assert_eq!(
            fs::read_link(work.path(path)).unwrap(),
            PathBuf::from(target)
        );
        check(
            &work,
            &[(
                json!({ "op": "readlink-at", "path": path }),
                json!({ "target": target }),
            )],
        )
        .await;
    }
    let cases = [
        ("link", "ok"),
        ("dirlink/three", "ok"),
        ("file", "invalid"),
        ("dir", "invalid"),
        (".", "invalid"),
        ("dirlink/", "invalid"),
        ("none", "no-entry"),
        ("", "no-entry"),
    ];
    let steps = cases.map(|(path, _)| json!({ "op": "readlink-at", "path": path }));
    let ran = script(&work.workdir, &steps, |_| ()).await;
    assert_codes(&steps, &ran, &cases.map(|(_, expected)| expected));
    check(
        &work,
        &[
            (
                json!({ "op": "open-at", "path": "dir/three", "follow": true, "as": 1 }),
                json!({}),
            ),
            (
                json!({ "op": "read", "on": 1, "length": 9 }),
                json!({ "text": "hello" }),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn handles_to_one_object_are_the_same_object() {
    let work = furnished();
    let slots = [
        "file",
        "hard",
        "link",
        "dir",
        "dirlink",
        "dir/.",
        "dir/inner",
        ".",
    ];
    let mut steps: Vec<Value> = (1..)
        .zip(slots)
        .map(|(slot, path)| json!({ "op": "open-at", "path": path, "follow": true, "as": slot }))
        .collect();
    let pairs: Vec<(usize, usize)> = (1..=slots.len())
        .flat_map(|a| (1..=slots.len()).map(move |b| (a, b)))
        .collect();
    for (on, other) in &pairs {
        steps.push(json!({ "op": "is-same-object", "on": on, "other": other }));
    }
    for (slot, path) in (1..).zip(slots) {
        steps.push(json!({ "op": "metadata-hash", "on": slot }));
        steps.push(json!({ "op": "metadata-hash-at", "path": path, "follow": true }));
    }
    let results = script(&work.workdir, &steps, |_| ()).await.results;
    let (same, hashes) = results[slots.len()..].split_at(pairs.len());
    let inode = |slot: usize| fs::metadata(work.path(slots[slot - 1])).unwrap().ino();
    for ((on, other), result) in pairs.iter().zip(same) {
        let is_same = inode(*on) == inode(*other);
        assert_eq!(
            result["same"],
            is_same,
            "{} and {}",
            slots[on - 1],
            slots[other - 1]
        );
        let same_hash = hashes[2 * (on - 1)] == hashes[2 * (other - 1)];
        assert_eq!(
            same_hash,
            is_same,
            "hash of {} and {}",
            slots[on - 1],
            slots[other - 1]
        );
    }
    for (by_handle, by_path) in hashes
        .iter()
        .step_by(2)
        .zip(hashes.iter().skip(1).step_by(2))
    {
        assert_eq!(by_handle, by_path);
    }
}

#[tokio::test]
async fn the_metadata_hash_follows_every_change() {
    let work = furnished();
    let hash = |path: &str, follow: bool| json!({ "op": "metadata-hash-at", "path": path, "follow": follow });
    let steps = [
        hash("file", false),
        open("file", &[], &["write"]),
        json!({ "op": "set-size", "on": 1, "size": 6 }),
        hash("file", false),
        json!({ "op": "set-times", "on": 1, "modified": { "seconds": 5 } }),
        hash("file", false),
        hash("link", true),
        hash("link", false),
        hash("none", false),
    ];
    let ran = script(&work.workdir, &steps, |_| ()).await;
    let hashes = [0, 3, 5, 6, 7].map(|step| &ran.results[step]);
    for (step, hash) in hashes.iter().enumerate() {
        assert!(hash["lower"].is_u64() && hash["upper"].is_u64(), "{hash}");
        let repeats = (step + 1..5).any(|other| hashes[other] == *hash);
        assert_eq!(
            repeats,
            step == 2,
            "{step}: only the followed link is the file"
        );
    }
    assert_eq!(ran.codes()[8], "no-entry");
}

#[tokio::test]
async fn every_descriptor_accepts_sync_and_advice() {
    let work = furnished();
    for path in ["file", "dir", "."] {
        let is_file = path == "file";
        let mut steps = vec![
            json!({ "op": "open-at", "path": path, "as": 1 }),
            json!({ "op": "sync", "on": 1 }),
            json!({ "op": "sync-data", "on": 1 }),
            // The preopen itself.
            json!({ "op": "sync" }),
            json!({ "op": "sync-data" }),
        ];
        let mut expected = vec!["ok"; steps.len()];
        for advice in [
            "normal",
            "sequential",
            "random",
            "will-need",
            "dont-need",
            "no-reuse",
        ] {
            for (offset, length) in [(0, 0), (0, 1), (3, 1_u64 << 40), (1_u64 << 40, 1)] {
                steps.push(json!({ "op": "advise", "on": 1, "advice": advice, "offset": offset, "length": length }));
                expected.push(if is_file { "ok" } else { "is-directory" });
            }
        }
        let ran = script(&work.workdir, &steps, |_| ()).await;
        assert_codes(&steps, &ran, &expected);
    }
}

#[tokio::test]
async fn the_workdir_is_the_only_preopen() {
    let work = furnished();
    let preopens = (json!({ "op": "preopens" }), json!({ "paths": ["/"] }));
    check(&work, &[preopens.clone(), preopens]).await;
}
