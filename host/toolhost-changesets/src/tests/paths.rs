//! Paths that lead out of the bundle's folder, or to what programs of the host run.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::{ChangesetError, CommitOutcome, PathError, Version};

use super::{Fixture, call, code};

#[tokio::test]
async fn nothing_outside_the_folder_of_the_bundle_is_read_or_written() {
    // requirements-v1 §12.4
    let fixture = Fixture::new().await;
    let outside = fixture.top.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    symlink(&outside, fixture.path("folder")).unwrap();
    symlink(outside.join("secret"), fixture.path("file")).unwrap();
    symlink("notes.md", fixture.path("inside")).unwrap();
    fs::create_dir_all(fixture.path(".git/hooks")).unwrap();
    let before = (fixture.disk(), fs::read(outside.join("secret")).unwrap());

    let turn = fixture.instance().open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    let id = fixture.open().await;
    let absolute = outside.join("secret").display().to_string();
    for path in [
        "../outside/secret",
        "a/../../outside/secret",
        &absolute,
        "folder/secret",
        "folder/new",
        "file",
        "inside",
        ".git/hooks/pre-commit",
        ".",
        "a\u{0}b",
    ] {
        for (tool, args) in [
            ("changeset__read", json!({"id": id, "path": path})),
            (
                "changeset__write",
                json!({"id": id, "path": path, "content": "x"}),
            ),
            ("changeset__delete", json!({"id": id, "path": path})),
        ] {
            let refused = call(&step, tool, args).await;
            assert_eq!(
                code(&refused),
                "E_CHANGESET_PATH",
                "{tool} {path:?}: {refused:?}"
            );
        }
    }
    for folder in ["..", "/", "folder", ".git"] {
        let refused = call(&step, "changeset__list", json!({"id": id, "path": folder})).await;
        assert_eq!(code(&refused), "E_CHANGESET_PATH", "{folder}");
    }
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    let after = (fixture.disk(), fs::read(outside.join("secret")).unwrap());
    assert_eq!(after, before);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_before_the_commit_leads_nowhere() {
    // requirements-v1 §12.4
    let fixture = Fixture::new().await;
    let outside = fixture.top.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(fixture.path("docs")).unwrap();
    let id = fixture.open().await;
    fixture.write(&id, "docs/a.md", "mine").await;
    fs::remove_dir(fixture.path("docs")).unwrap();
    symlink(&outside, fixture.path("docs")).unwrap();
    let outcome = fixture.commit(&id).await;
    assert!(!matches!(outcome, CommitOutcome::Ok { .. }), "{outcome:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[tokio::test]
async fn what_builds_run_cannot_be_written() {
    // `toolhost build` runs outside a sandbox.
    let fixture = Fixture::new().await;
    let id = fixture.open().await;
    for path in [
        "Cargo.toml",
        "a/build.rs",
        "package.json",
        "node_modules/a/index.js",
        "requirements.txt",
        "sub/.npmrc",
        "sub/pyproject.toml",
        "__pycache__/tool.cpython-314.pyc",
        ".cargo/config.toml",
    ] {
        let refused = fixture
            .changesets
            .write(&id, &fixture.owner, path, b"x")
            .await;
        assert!(
            matches!(refused, Err(ChangesetError::Path(_))),
            "{path}: {refused:?}"
        );
    }
}

/// Writes the manifest of a package, and an empty source.
fn package(fixture: &Fixture, folder: &str, manifest: &str) {
    let folder = fixture.path(folder);
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
}

#[tokio::test]
async fn rust_sources_that_a_build_runs_on_the_host_cannot_be_written() {
    let fixture = Fixture::new().await;
    let tool = "[lib]\ncrate-type = [\"cdylib\"]\n";
    package(&fixture, "tool", tool);
    package(&fixture, "tool/macros", "[lib]\nproc-macro = true\n");
    package(&fixture, "shared", "[lib]\n");
    package(
        &fixture,
        "named",
        &format!("[package]\nbuild = 'src/make.rs'\n{tool}"),
    );
    package(&fixture, "beside", tool);
    fs::write(fixture.path("beside/build.rs"), "").unwrap();
    let before = fixture.disk();
    let id = fixture.open().await;
    for path in [
        "tool/macros/src/lib.rs",
        "tool/macros/src/new/mod.RS",
        "shared/src/lib.rs",
        "named/src/make.rs",
        "beside/src/lib.rs",
        "loose.rs",
    ] {
        let written = fixture
            .changesets
            .write(&id, &fixture.owner, path, b"fn main() {}");
        let refused = written.await;
        assert!(
            matches!(
                refused,
                Err(ChangesetError::Path(PathError::HostSource { .. }))
            ),
            "{path}: {refused:?}"
        );
    }
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.disk(), before);
    // Those of a tool are compiled for the sandbox alone.
    let id = fixture.open().await;
    fixture.write(&id, "tool/src/lib.rs", "// new").await;
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.text("tool/src/lib.rs"), "// new");
}

#[tokio::test]
async fn a_build_script_that_was_added_before_the_commit_is_noticed() {
    let fixture = Fixture::new().await;
    package(&fixture, "tool", "[lib]\ncrate-type = [\"cdylib\"]\n");
    let id = fixture.open().await;
    fixture.write(&id, "tool/src/lib.rs", "// new").await;
    fs::write(fixture.path("tool/build.rs"), "include!(\"src/lib.rs\");").unwrap();
    let refused = fixture.commit(&id).await;
    assert!(
        matches!(refused, CommitOutcome::Failed { .. }),
        "{refused:?}"
    );
    assert_eq!(fixture.text("tool/src/lib.rs"), "");
}

#[tokio::test]
async fn the_lock_is_neither_written_nor_deleted() {
    let fixture = Fixture::new().await;
    let lock = fixture.live.current().lock().to_text();
    fs::write(fixture.path("toolhost.lock"), &lock).unwrap();
    let id = fixture.open().await;
    let owner = &fixture.owner;
    for path in ["toolhost.lock", "./Toolhost.LOCK", "tools/toolhost.lock"] {
        let written = fixture.changesets.write(&id, owner, path, b"").await;
        let deleted = fixture.changesets.delete(&id, owner, path).await;
        for refused in [written.map(drop), deleted.map(drop)] {
            assert!(
                matches!(refused, Err(ChangesetError::Path(_))),
                "{path}: {refused:?}"
            );
        }
    }
    // What differs from it is not committed.
    let manifest = fs::read_to_string(fixture.path("goondan.yaml")).unwrap();
    let changed = format!(
        "{manifest}\n---\n{}",
        manifest.replace("name: text", "name: more")
    );
    fixture.write(&id, "goondan.yaml", &changed).await;
    let outcome = fixture.commit(&id).await;
    assert!(
        matches!(outcome, CommitOutcome::Rejected { .. }),
        "{outcome:?}"
    );
    assert_eq!(
        fs::read_to_string(fixture.path("goondan.yaml")).unwrap(),
        manifest
    );
    assert_eq!(
        fs::read_to_string(fixture.path("toolhost.lock")).unwrap(),
        lock
    );
}

#[tokio::test]
async fn folders_and_files_do_not_take_each_others_place() {
    let fixture = Fixture::new().await;
    let id = fixture.open().await;
    fixture.write(&id, "new/a.md", "x").await;
    for path in ["new", "new/a.md/b", "notes.md/b", "text.wasm/b"] {
        let refused = fixture
            .changesets
            .write(&id, &fixture.owner, path, b"x")
            .await;
        assert!(
            matches!(refused, Err(ChangesetError::Unfit { .. })),
            "{path}: {refused:?}"
        );
    }
    let read = fixture
        .changesets
        .read(&id, &fixture.owner, "new", Version::Changeset)
        .await;
    assert!(
        matches!(read, Err(ChangesetError::Unfit { .. })),
        "{read:?}"
    );
    // Where a file is deleted, a folder can be.
    fixture
        .changesets
        .delete(&id, &fixture.owner, "notes.md")
        .await
        .unwrap();
    fixture.write(&id, "notes.md/b", "x").await;
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.text("notes.md/b"), "x");
}
