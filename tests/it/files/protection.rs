//! Write-protected files under all their names, and read-only workdirs.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use toolhost_contract::Denial;
use toolhost_sandbox::{Invocation, Outcome, WorkdirAccess, WriteProtected};
use toolhost_tests::Work;

use super::probe::{assert_codes, call, furnished, open, output, script};
use super::snapshot::{file_id, tree};

/// A workdir that holds a bundle. Its manifest, its entry, a link to its tools and the folders
/// above them are protected.
struct Bundle {
    work: Work,
    protected: WriteProtected,
}

const MANIFEST: &str = "bundle/goondan.yaml";
const ENTRY: &str = "bundle/tools/tool.wasm";

impl Bundle {
    fn new() -> Self {
        let work = Work::new();
        fs::create_dir_all(work.path("bundle/tools")).unwrap();
        fs::create_dir(work.path("dir")).unwrap();
        for file in [MANIFEST, ENTRY, "bundle/notes", "mine"] {
            fs::write(work.path(file), file).unwrap();
        }
        fs::hard_link(work.path(MANIFEST), work.path("alias")).unwrap();
        symlink("tools", work.path("bundle/way")).unwrap();
        let protected = ["", "bundle", "bundle/tools", "bundle/way", MANIFEST, ENTRY];
        let protected = protected.map(|path| file_id(&work.path(path)));
        Self {
            work,
            protected: WriteProtected::new(protected),
        }
    }

    fn protect(&self) -> impl FnOnce(&mut Invocation) {
        let protected = self.protected.clone();
        move |request| request.protected = protected
    }
}

#[tokio::test]
async fn protected_files_cannot_be_changed_through_any_name() {
    let follow = |mut step: Value| {
        step["follow"] = json!(true);
        step
    };
    let rename = |path: &str, to: &str| json!({ "op": "rename-at", "path": path, "to": to });
    let link = |path: &str, to: &str| json!({ "op": "link-at", "path": path, "to": to });
    let unlink = |path: &str| json!({ "op": "unlink-file-at", "path": path });
    let rmdir = |path: &str| json!({ "op": "remove-directory-at", "path": path });
    let touch =
        |path: &str| json!({ "op": "set-times-at", "path": path, "modified": { "seconds": 1 } });
    let chmod = |path: &str| json!({ "op": "set-mode", "path": path, "mode": 0o700 });
    let no = "not-permitted";

    let mut attempts: Vec<(Vec<Value>, Vec<&str>)> = vec![
        (vec![rename("bundle", "elsewhere")], vec![no]),
        (vec![rename("bundle/", "elsewhere/")], vec![no]),
        (vec![rename("dir", "bundle")], vec![no]),
        (vec![rename("bundle/tools", "dir/tools")], vec![no]),
        (vec![rename("dir", "bundle/tools")], vec![no]),
        (vec![chmod("bundle")], vec![no]),
        (vec![chmod("bundle/way")], vec![no]),
        (vec![rmdir("bundle")], vec![no]),
        (vec![rmdir("bundle/tools")], vec![no]),
        (vec![rmdir("bundle/tools/")], vec![no]),
        (vec![unlink("bundle/way")], vec![no]),
        (vec![rename("bundle/way", "elsewhere")], vec![no]),
        (vec![rename("bundle/way/", "elsewhere")], vec![no]),
        (vec![rename("mine", "bundle/way")], vec![no]),
        (vec![rename("dir", "bundle/way/")], vec![no]),
        (vec![rmdir("bundle/way/")], vec![no]),
        (vec![link("bundle/way", "hard")], vec![no]),
        (vec![touch("bundle/way")], vec![no]),
        (vec![touch("bundle")], vec![no]),
        (vec![touch(".")], vec![no]),
        (
            vec![json!({ "op": "set-times", "modified": { "seconds": 1 } })],
            vec![no],
        ),
        (
            vec![
                open("bundle", &["directory"], &["read"]),
                json!({ "op": "set-times", "on": 1, "modified": "now" }),
            ],
            vec!["ok", no],
        ),
    ];
    let names = [
        MANIFEST,
        ENTRY,
        "alias",
        "bundle/./goondan.yaml",
        "bundle//goondan.yaml",
        "dir/../bundle/goondan.yaml",
        "bundle/tools/../goondan.yaml",
        "./bundle/tools/tool.wasm",
    ];
    for name in names {
        attempts.extend([
            (vec![open(name, &[], &["write"])], vec![no]),
            (vec![open(name, &[], &["read", "write"])], vec![no]),
            (vec![open(name, &["create"], &["write"])], vec![no]),
            (vec![open(name, &["truncate"], &["write"])], vec![no]),
            (
                vec![open(name, &["create", "truncate"], &["read", "write"])],
                vec![no],
            ),
            (
                vec![open(name, &["create", "exclusive"], &["write"])],
                vec!["exist"],
            ),
            (vec![unlink(name)], vec![no]),
            (vec![rename(name, "stolen")], vec![no]),
            (vec![rename(name, "bundle/other")], vec![no]),
            (vec![rename("mine", name)], vec![no]),
            (vec![rename("dir", name)], vec![no]),
            (
                vec![link(name, "hard"), open("hard", &[], &["write"])],
                vec![no, "no-entry"],
            ),
            (vec![link("mine", name)], vec!["exist"]),
            (
                vec![json!({ "op": "symlink-at", "path": name, "target": "mine" })],
                vec!["exist"],
            ),
            (
                vec![json!({ "op": "create-directory-at", "path": name })],
                vec!["exist"],
            ),
            (vec![touch(name)], vec![no]),
            (vec![chmod(name)], vec![no]),
            (vec![follow(touch(name))], vec![no]),
            (
                vec![
                    open(name, &[], &["read"]),
                    json!({ "op": "set-size", "on": 1, "size": 0 }),
                    json!({ "op": "write", "on": 1, "text": "x" }),
                    json!({ "op": "append-via-stream", "on": 1 }),
                    json!({ "op": "set-times", "on": 1, "modified": "now" }),
                ],
                vec![
                    "ok",
                    "bad-descriptor",
                    "bad-descriptor",
                    "bad-descriptor",
                    no,
                ],
            ),
            (
                vec![
                    json!({ "op": "symlink-at", "path": "soft", "target": name }),
                    follow(open("soft", &[], &["write"])),
                    follow(open("soft", &["create", "truncate"], &["write"])),
                    follow(touch("soft")),
                    chmod("soft"),
                    unlink("soft"),
                ],
                vec!["ok", no, no, no, no, "ok"],
            ),
        ]);
    }
    for (steps, expected) in attempts {
        let bundle = Bundle::new();
        let before = tree(bundle.work.dir.path(), None);
        let ran = script(&bundle.work.workdir, &steps, bundle.protect()).await;
        assert_codes(&steps, &ran, &expected);
        if expected.contains(&no) {
            assert_eq!(
                ran.report.usage.denials,
                [Denial::WriteProtected],
                "{steps:?}"
            );
        }
        let mut after = tree(bundle.work.dir.path(), None);
        // The modification time of the workdir changes with the link created and removed in it.
        let mut before = before;
        for tree in [&mut before, &mut after] {
            tree.retain(|path, _| !path.as_os_str().is_empty());
        }
        assert_eq!(after, before, "{steps:?}");
    }
}

#[tokio::test]
async fn protected_files_can_be_read_and_files_beside_them_changed() {
    let bundle = Bundle::new();
    let steps = [
        open(MANIFEST, &[], &["read"]),
        json!({ "op": "read", "on": 1, "length": 99 }),
        json!({ "op": "stat-at", "path": ENTRY }),
        json!({ "op": "metadata-hash-at", "path": ENTRY }),
        json!({ "op": "open-at", "path": "bundle/tools", "as": 2 }),
        json!({ "op": "list", "on": 2 }),
        open("bundle/notes", &["truncate"], &["write"]),
        open("bundle/tools/new", &["create"], &["write"]),
        json!({ "op": "rename-at", "path": "bundle/tools/new", "to": "bundle/newer" }),
        json!({ "op": "unlink-file-at", "path": "mine" }),
        json!({ "op": "remove-directory-at", "path": "dir" }),
    ];
    let ran = script(&bundle.work.workdir, &steps, bundle.protect()).await;
    assert_codes(&steps, &ran, &["ok"; 11]);
    assert_eq!(ran.results[1]["text"], MANIFEST);
    assert!(ran.report.usage.denials.is_empty());
    assert_eq!(fs::read(bundle.work.path("bundle/notes")).unwrap(), b"");
    assert!(bundle.work.path("bundle/newer").exists() && !bundle.work.path("dir").exists());
}

#[tokio::test]
async fn programs_that_use_std_get_eperm_for_protected_files() {
    let bundle = Bundle::new();
    let before = tree(bundle.work.dir.path(), None);
    for op in [
        "write",
        "append",
        "truncate",
        "unlink",
        "rename",
        "rename_from",
        "link",
        "set_times",
    ] {
        let input = json!({ "op": op, "paths": [format!("/{MANIFEST}"), format!("/{ENTRY}"), "/alias"], "other": "/mine" });
        let report = call(
            "climb_out_of_workdir",
            "run",
            input,
            &bundle.work.workdir,
            bundle.protect(),
        )
        .await;
        for result in output(&report)["results"].as_array().unwrap() {
            assert_eq!(result["error"], "EPERM", "{op}: {result}");
        }
    }
    let input = json!({ "path": MANIFEST, "content": "x" });
    let report = call(
        "file-system",
        "write",
        input,
        &bundle.work.workdir,
        bundle.protect(),
    )
    .await;
    assert!(
        matches!(&report.outcome, Ok(Outcome::Failed(error)) if error.code.as_deref() == Some("PERMISSION_DENIED"))
    );
    assert_eq!(tree(bundle.work.dir.path(), None), before);
}

#[tokio::test]
async fn a_read_only_workdir_can_be_read_and_not_changed() {
    let on_handle = |op: Value| vec![open("file", &[], &["read"]), op];
    let one = |op: Value| vec![op];
    let mutations: Vec<Vec<Value>> = vec![
        one(open("file", &["truncate"], &["write"])),
        one(open("file", &["create", "truncate"], &["read", "write"])),
        one(open("new", &["create"], &["read"])),
        one(open("new", &["create"], &["write"])),
        one(open("new", &["create", "exclusive"], &["write"])),
        one(json!({ "op": "create-directory-at", "path": "new" })),
        one(json!({ "op": "remove-directory-at", "path": "dir/sub" })),
        one(json!({ "op": "unlink-file-at", "path": "file" })),
        one(json!({ "op": "symlink-at", "path": "new", "target": "file" })),
        one(json!({ "op": "link-at", "path": "file", "to": "new" })),
        one(json!({ "op": "rename-at", "path": "file", "to": "new" })),
        one(json!({ "op": "set-times-at", "path": "file", "modified": { "seconds": 1 } })),
        one(
            json!({ "op": "set-times-at", "path": "link", "follow": true, "modified": { "seconds": 1 } }),
        ),
        one(json!({ "op": "set-times", "modified": { "seconds": 1 } })),
        one(json!({ "op": "set-mode", "path": "file", "mode": 0o700 })),
        one(json!({ "op": "set-mode", "path": "dir", "mode": 0o700 })),
        on_handle(json!({ "op": "set-times", "on": 1, "modified": { "seconds": 1 } })),
    ];
    for steps in &mutations {
        for access in [WorkdirAccess::ReadOnly, WorkdirAccess::ReadWrite] {
            let work = furnished();
            let before = tree(work.dir.path(), None);
            let ran = script(&work.workdir, steps, |request| {
                request.grants.workdir = access
            })
            .await;
            let changed = tree(work.dir.path(), None) != before;
            let last = *ran.codes().last().unwrap();
            let (code, denials): (_, &[Denial]) = match access {
                WorkdirAccess::ReadOnly => ("read-only", &[Denial::ReadOnly]),
                WorkdirAccess::ReadWrite => ("ok", &[]),
            };
            assert_eq!(last, code, "{access:?} {steps:?}");
            assert_eq!(ran.report.usage.denials, denials, "{access:?} {steps:?}");
            assert_eq!(
                changed,
                access == WorkdirAccess::ReadWrite,
                "{access:?} {steps:?}"
            );
        }
    }
    let work = furnished();
    let reads = [
        open("file", &[], &["read"]),
        json!({ "op": "read", "on": 1, "length": 9 }),
        json!({ "op": "read-via-stream", "on": 1 }),
        json!({ "op": "list" }),
        json!({ "op": "stat-at", "path": "dir" }),
        json!({ "op": "readlink-at", "path": "link" }),
        json!({ "op": "metadata-hash" }),
        json!({ "op": "get-flags" }),
    ];
    let ran = script(&work.workdir, &reads, |request| {
        request.grants.workdir = WorkdirAccess::ReadOnly
    })
    .await;
    assert_codes(&reads, &ran, &["ok"; 8]);
    assert_eq!(ran.results[7]["flags"], json!(["read"]));
    assert!(ran.report.usage.denials.is_empty());
    let write = [open("file", &[], &["write"])];
    let ran = script(&work.workdir, &write, |request| {
        request.grants.workdir = WorkdirAccess::ReadOnly
    })
    .await;
    assert_codes(&write, &ran, &["read-only"]);
}
