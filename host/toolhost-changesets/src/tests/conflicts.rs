//! Files that others change meanwhile.

use std::fs;

use toolhost_store::rusqlite;

use crate::error::with_causes;
use crate::{ChangesetError, CommitOutcome, Version};

use super::Fixture;

#[tokio::test]
async fn a_conflict_names_the_files_and_the_next_step_and_nothing_changes() {
    // requirements-v1 §12.4(1): conflict; §12.4(2)
    let fixture = Fixture::new().await;
    let id = fixture.open().await;
    fixture.write(&id, "a.md", "mine").await;
    fixture.write(&id, "notes.md", "mine").await;
    fixture.write(&id, "quiet.md", "mine").await;
    fs::write(fixture.path("notes.md"), "theirs").unwrap();
    fs::write(fixture.path("a.md"), "theirs").unwrap();
    let before = fixture.disk();
    let CommitOutcome::Conflict { files, hint } = fixture.commit(&id).await else {
        panic!("it conflicts");
    };
    assert_eq!(files, ["a.md", "notes.md"]);
    assert!(hint.contains("changeset__read"), "{hint}");
    assert_eq!(fixture.disk(), before);

    // The next step that the hint names.
    for path in ["a.md", "notes.md"] {
        let read = fixture
            .changesets
            .read(&id, &fixture.owner, path, Version::Bundle);
        assert_eq!(read.await.unwrap(), b"theirs");
        fixture.write(&id, path, "theirs and mine").await;
    }
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.text("notes.md"), "theirs and mine");
    assert_eq!(fixture.text("quiet.md"), "mine");
}

#[tokio::test]
async fn of_two_changesets_on_one_file_the_first_is_committed_and_the_second_conflicts() {
    // requirements-v1 §12.4(2)
    let fixture = Fixture::new().await;
    let (first, second) = (fixture.open().await, fixture.open().await);
    fixture.write(&first, "notes.md", "first").await;
    fixture.write(&second, "notes.md", "second").await;
    let (one, other) = tokio::join!(fixture.commit(&first), fixture.commit(&second));
    let both = [&one, &other];
    let committed = both
        .iter()
        .filter(|it| matches!(it, CommitOutcome::Ok { .. }))
        .count();
    let conflicts = both
        .iter()
        .filter(|it| matches!(it, CommitOutcome::Conflict { .. }))
        .count();
    assert_eq!((committed, conflicts), (1, 1), "{both:?}");
    let text = fixture.text("notes.md");
    let winner = matches!(one, CommitOutcome::Ok { .. });
    assert_eq!(text, if winner { "first" } else { "second" });
}

#[tokio::test]
async fn a_file_that_was_read_before_another_changeset_changed_it_conflicts() {
    // requirements-v1 §12.4(2): what was read is what is replaced
    let fixture = Fixture::new().await;
    let (first, second) = (fixture.open().await, fixture.open().await);
    let read = fixture
        .changesets
        .read(&second, &fixture.owner, "notes.md", Version::Changeset);
    assert_eq!(read.await.unwrap(), b"one\ntwo\n");
    fixture.write(&first, "notes.md", "first").await;
    fixture.commit(&first).await;
    fixture
        .write(&second, "notes.md", "one\ntwo\nthree\n")
        .await;
    let conflict = fixture.commit(&second).await;
    assert!(
        matches!(conflict, CommitOutcome::Conflict { .. }),
        "{conflict:?}"
    );
    assert_eq!(fixture.text("notes.md"), "first");
}

#[tokio::test]
async fn a_file_that_became_a_folder_or_a_link_conflicts() {
    // requirements-v1 §12.4(2)
    let fixture = Fixture::new().await;
    let id = fixture.open().await;
    fixture.write(&id, "notes.md", "mine").await;
    fixture.write(&id, "new/a.md", "mine").await;
    fs::remove_file(fixture.path("notes.md")).unwrap();
    fs::create_dir(fixture.path("notes.md")).unwrap();
    std::os::unix::fs::symlink(fixture.top.path(), fixture.path("new")).unwrap();
    let conflict = fixture.commit(&id).await;
    let CommitOutcome::Conflict { files, .. } = conflict else {
        panic!("{conflict:?}");
    };
    assert_eq!(files, ["new/a.md", "notes.md"]);
    assert!(!fixture.top.path().join("a.md").exists());
}

#[tokio::test]
async fn a_row_whose_digest_is_malformed_is_an_error_that_names_it_and_no_commit() {
    let fixture = Fixture::new().await;
    let id = fixture.open().await;
    fixture.write(&id, "notes.md", "mine").await;
    let before = fixture.disk();
    let db = rusqlite::Connection::open(fixture.state("toolhost.db")).unwrap();
    let changed = db.execute("UPDATE changeset_files SET base = 'beef'", []);
    assert_eq!(changed.unwrap(), 1);
    let commit = fixture.changesets.commit(&id, &fixture.owner).await;
    let error = commit.unwrap_err();
    let ChangesetError::Store(_) = &error else {
        panic!("{error:?}");
    };
    let error = with_causes(&error);
    assert!(error.contains("64 hexadecimal digits"), "{error}");
    assert_eq!(fixture.disk(), before);
}
