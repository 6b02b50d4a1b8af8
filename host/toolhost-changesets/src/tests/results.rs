//! The four results of a commit.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use toolhost::manifest::{
    BundleDirectory, ComponentSource, Diagnostic, EntryFuture, Place, ToolResource,
};
use toolhost::{Host, LiveBundle, Policy, ToolErrorCode};
use toolhost_manifest::bundle::OpenBundle;

use crate::outcome::ChangeKind;
use crate::{ChangesetError, Changesets, CommitOutcome, EntryKind, Version};

use super::{Fixture, POLICY, documents, sandbox, tool};

#[tokio::test]
async fn a_commit_changes_creates_and_deletes_files_together() {
    // requirements-v1 §12.4(1): ok
    let fixture = Fixture::new().await;
    let before = fixture.disk();
    let id = fixture.open().await;
    let manifest = documents(&[
        tool("text", "text", "upper"),
        tool("shout", "text", "upper"),
    ]);
    fixture.write(&id, "goondan.yaml", &manifest).await;
    fixture.write(&id, "docs/a/b.md", "new").await;
    fixture.write(&id, "docs/c.md", "new").await;
    let deleted = fixture.changesets.delete(&id, &fixture.owner, "notes.md");
    deleted.await.unwrap();
    assert_eq!(
        fixture.disk(),
        before,
        "nothing takes effect before the commit"
    );

    let entries = fixture
        .changesets
        .list_files(&id, &fixture.owner, "")
        .await
        .unwrap();
    let entries: Vec<_> = entries
        .iter()
        .map(|it| (it.name.as_str(), it.kind))
        .collect();
    let expected = [
        ("docs", EntryKind::Folder),
        ("goondan.yaml", EntryKind::File),
        ("text.wasm", EntryKind::File),
    ];
    assert_eq!(entries, expected);

    let committed = fixture.commit(&id).await;
    let CommitOutcome::Ok { changes, .. } = committed else {
        panic!("{committed:?}");
    };
    let changes: Vec<_> = changes
        .iter()
        .map(|it| (it.path.as_str(), it.change))
        .collect();
    let expected = [
        ("docs/a/b.md", ChangeKind::Created),
        ("docs/c.md", ChangeKind::Created),
        ("goondan.yaml", ChangeKind::Changed),
        ("notes.md", ChangeKind::Deleted),
    ];
    assert_eq!(changes, expected);
    assert_eq!(fixture.text("goondan.yaml"), manifest);
    assert_eq!(fixture.text("docs/a/b.md"), "new");
    assert_eq!(fixture.text("docs/c.md"), "new");
    assert!(!fixture.path("notes.md").exists());
    assert_eq!(fixture.tools(), ["text__upper", "shout__upper"]);

    let closed = fixture.changesets.diff(&id, &fixture.owner).await;
    assert!(
        matches!(
            closed,
            Err(ChangesetError::NotOpen {
                state: "committed",
                ..
            })
        ),
        "{closed:?}"
    );
    assert!(!fixture.state("changesets").join(&id).exists());
}

#[tokio::test]
async fn a_bundle_that_does_not_load_is_rejected_with_every_diagnostic_and_nothing_changes() {
    // requirements-v1 §12.4(1): rejected
    let fixture = Fixture::new().await;
    let before = fixture.disk();
    let id = fixture.open().await;
    let manifest = documents(&[
        tool("text", "missing", "upper"),
        tool("other", "text", "no-such-handler"),
    ]);
    fixture.write(&id, "goondan.yaml", &manifest).await;
    fixture.write(&id, "new.md", "new").await;
    let CommitOutcome::Rejected { diagnostics, hint } = fixture.commit(&id).await else {
        panic!("it is rejected");
    };
    let codes: Vec<_> = diagnostics
        .iter()
        .map(|finding| finding.code.as_str())
        .collect();
    for code in ["E_CONFIG_ENTRY_NOT_FOUND", "E_COMPONENT_MISSING_HANDLER"] {
        assert!(codes.contains(&code), "{codes:?}");
    }
    let own = fixture.path("goondan.yaml");
    for finding in &diagnostics {
        assert!(
            finding.place.file.ends_with("bundle/goondan.yaml"),
            "{finding}"
        );
        assert!(finding.place.position.is_some(), "{finding}");
        let text = format!("{finding} {}", finding.help);
        assert!(!text.contains("changeset"), "a path of the bundle: {text}");
    }
    assert!(own.exists() && !hint.is_empty());
    assert_eq!(fixture.disk(), before);
    assert_eq!(fixture.tools(), ["text__upper"]);

    // It is still open, and can be corrected.
    fixture
        .write(&id, "goondan.yaml", tool("other", "text", "upper"))
        .await;
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.text("new.md"), "new");
    assert_eq!(fixture.tools(), ["other__upper"]);
}

#[tokio::test]
async fn a_changeset_that_deletes_the_manifest_is_rejected() {
    // requirements-v1 §12.4(1): rejected
    let fixture = Fixture::new().await;
    let before = fixture.disk();
    let id = fixture.open().await;
    let deleted = fixture
        .changesets
        .delete(&id, &fixture.owner, "goondan.yaml");
    deleted.await.unwrap();
    let CommitOutcome::Rejected { diagnostics, .. } = fixture.commit(&id).await else {
        panic!("it is rejected");
    };
    assert!(
        diagnostics[0].message.contains("no goondan.yaml"),
        "{diagnostics:?}"
    );
    assert_eq!(fixture.disk(), before);
    assert_eq!(fixture.tools(), ["text__upper"]);
}

#[tokio::test]
async fn a_commit_whose_files_cannot_be_staged_fails_and_nothing_changes() {
    // requirements-v1 §12.4(1): failed
    let fixture = Fixture::new().await;
    let before = fixture.disk();
    let id = fixture.open().await;
    fixture.write(&id, "a.md", "new").await;
    fixture.write(&id, "notes.md", "new").await;
    for entry in fs::read_dir(fixture.state("changesets").join(&id)).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let failed = fixture.commit(&id).await;
    let CommitOutcome::Failed { error, hint } = failed else {
        panic!("{failed:?}");
    };
    assert!(!error.is_empty() && !hint.is_empty());
    assert_eq!(fixture.disk(), before);
    assert_eq!(fixture.tools(), ["text__upper"]);
    // It is still open.
    fixture.write(&id, "a.md", "again").await;
    fixture.write(&id, "notes.md", "again").await;
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.text("a.md"), "again");
}

#[tokio::test]
async fn a_discarded_changeset_leaves_nothing() {
    // requirements-v1 §12.4(3)
    let fixture = Fixture::new().await;
    let before = fixture.disk();
    let id = fixture.open().await;
    fixture.write(&id, "notes.md", "new").await;
    fixture
        .changesets
        .discard(&id, &fixture.owner)
        .await
        .unwrap();
    assert_eq!(fixture.disk(), before);
    assert!(!fixture.state("changesets").join(&id).exists());
    let read = fixture
        .changesets
        .read(&id, &fixture.owner, "notes.md", Version::Changeset);
    let refused = read.await;
    assert!(
        matches!(
            refused,
            Err(ChangesetError::NotOpen {
                state: "discarded",
                ..
            })
        ),
        "{refused:?}"
    );
    assert!(
        fixture
            .changesets
            .list(&fixture.owner)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new().await;
    fs::set_permissions(fixture.path("notes.md"), fs::Permissions::from_mode(0o750)).unwrap();
    let id = fixture.open().await;
    fixture.write(&id, "notes.md", "new").await;
    fixture.commit(&id).await;
    let mode = fs::metadata(fixture.path("notes.md"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    assert_eq!(fixture.text("notes.md"), "new");
}

/// Reads components from the bundle's directory, but for one of the reads.
struct FailsOnce {
    reads: Arc<AtomicUsize>,
    fails_at: usize,
}

impl ComponentSource for FailsOnce {
    fn read<'a>(
        &'a self,
        bundle: &'a OpenBundle,
        tool: &'a ToolResource,
        max_bytes: u64,
    ) -> EntryFuture<'a> {
        if self.reads.fetch_add(1, Relaxed) + 1 == self.fails_at {
            let place = Place::file("goondan.yaml");
            let finding = Diagnostic::error(ToolErrorCode::ConfigEntry, place, "gone for now");
            return Box::pin(async move { Err(Box::new(finding)) });
        }
        BundleDirectory.read(bundle, tool, max_bytes)
    }
}

#[tokio::test]
async fn a_bundle_that_does_not_load_after_the_renames_is_put_back() {
    // requirements-v1 §12.4(1): failed
    let fixture = Fixture::new().await;
    let before = fixture.disk();
    // The load, the load with the changes, and the one after the renames.
    let reads = Arc::new(AtomicUsize::new(0));
    let source = FailsOnce {
        reads: Arc::clone(&reads),
        fails_at: 3,
    };
    let host = Host::builder().sandbox(sandbox()).component_source(source);
    let host = host.policy(Policy::parse(POLICY, "policy.yaml").unwrap());
    let host = host.state_root(fixture.state("")).build().unwrap();
    let live = LiveBundle::new(host.load(fixture.path("")).await.unwrap());
    let changesets = Changesets::new(&live, fixture.state("")).unwrap();
    let owner = &fixture.owner;
    let id = changesets.open(owner).await.unwrap().id;
    let new = tool("other", "text", "upper");
    for (path, content) in [("goondan.yaml", new.as_str()), ("docs/new.md", "new")] {
        let written = changesets.write(&id, owner, path, content.as_bytes());
        written.await.unwrap();
    }
    changesets.delete(&id, owner, "notes.md").await.unwrap();
    let failed = changesets.commit(&id, owner).await.unwrap();
    let CommitOutcome::Failed { error, .. } = failed else {
        panic!("{failed:?}");
    };
    assert!(error.contains("gone for now"), "{error}");
    assert_eq!(reads.load(Relaxed), 3);
    assert_eq!(fixture.disk(), before);
    let catalog = live.current().only_agent().unwrap().catalog();
    assert!(catalog.get("text__upper").is_some());

    let committed = changesets.commit(&id, owner).await.unwrap();
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.text("goondan.yaml"), new);
    assert!(!fixture.path("notes.md").exists());
}

/// The runtime of the test has one thread.
#[tokio::test]
async fn a_commit_that_waits_for_another_process_leaves_its_runtime_to_other_tasks() {
    let fixture = Fixture::new().await;
    let id = fixture.open().await;
    fixture.write(&id, "notes.md", "new").await;
    // The lock that another process holds while it commits.
    let locks = fixture.state("staging/locks");
    fs::DirBuilder::new().mode(0o700).create(&locks).unwrap();
    let inode = fs::metadata(fixture.path("")).unwrap().ino();
    let path = locks.join(format!("{inode:016x}.lock"));
    let held = fs::File::create(&path).unwrap();
    held.lock().unwrap();
    let commit_waits = || {
        let open = fs::read_dir("/proc/self/fd").unwrap();
        let open = open.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
        open.filter(|open| *open == path).count() > 1
    };
    let other = async {
        let started = std::time::Instant::now();
        while !commit_waits() {
            assert!(started.elapsed().as_secs() < 30, "it does not begin");
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        assert_eq!(fixture.text("notes.md"), "one\ntwo\n");
        drop(held);
    };
    let (committed, ()) = tokio::join!(fixture.commit(&id), other);
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.text("notes.md"), "new");
}

#[tokio::test]
async fn a_commit_whose_caller_is_gone_ends_whole() {
    // requirements-v1 §12.4(1): a call that is stopped at its deadline leaves no commit in part
    let fixture = Fixture::new().await;
    let id = fixture.open().await;
    fixture.write(&id, "notes.md", "new").await;
    let commit = fixture.changesets.commit(&id, &fixture.owner);
    let nothing = std::time::Duration::ZERO;
    let stopped = tokio::time::timeout(nothing, commit).await;
    assert!(stopped.is_err(), "{stopped:?}");
    let started = std::time::Instant::now();
    loop {
        let diff = fixture.changesets.diff(&id, &fixture.owner).await;
        match diff {
            Err(ChangesetError::NotOpen {
                state: "committed", ..
            }) => break,
            _ => assert!(started.elapsed().as_secs() < 30, "{diff:?}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    assert_eq!(fixture.text("notes.md"), "new");
}
