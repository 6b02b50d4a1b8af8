//! Processes that end while a changeset is open or being committed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{ChangesetError, CommitOutcome, Version};

use super::{Fixture, POLICY};

/// Names the directory of the fixture for the child, and what it does.
const CHILD: &str = "TOOLHOST_CHANGESETS_CHILD";

/// Runs [`child`] in a process of its own, which ends by a signal, and returns the fixture as it left it,
/// with the id of its changeset.
async fn killed(fixture: Fixture, act: &str) -> (Fixture, String) {
    let Fixture { top, .. } = fixture;
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "tests::killed::child", "--nocapture"]);
    child.env(CHILD, format!("{act}:{}", top.path().display()));
    let ended = child.output().unwrap();
    assert!(
        !ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stdout)
    );
    let id = fs::read_to_string(top.path().join("id")).unwrap();
    (Fixture::load(top, POLICY).await, id)
}

/// Returns what the parent has passed to this process; an error in the parent itself.
#[expect(
    clippy::disallowed_methods,
    reason = "arguments of a test binary select tests, so only the environment can pass a path"
)]
fn variable(name: &str) -> Result<String, std::env::VarError> {
    std::env::var(name)
}

#[tokio::test]
async fn child() {
    let Ok(what) = variable(CHILD) else {
        return;
    };
    let (act, top) = what.split_once(':').unwrap();
    let path = PathBuf::from(top);
    let host = toolhost::Host::builder().sandbox(super::sandbox());
    let host = host.policy(toolhost::Policy::parse(POLICY, "policy.yaml").unwrap());
    let host = host.state_root(path.join("state")).build().unwrap();
    let live = toolhost::LiveBundle::new(host.load(path.join("bundle")).await.unwrap());
    let changesets = crate::Changesets::new(&live, path.join("state")).unwrap();
    let owner = changesets.owner("default", "user-1");
    let id = changesets.open(&owner).await.unwrap().id;
    changesets
        .write(&id, &owner, "notes.md", b"changed")
        .await
        .unwrap();
    changesets
        .write(&id, &owner, "new/a.md", b"new")
        .await
        .unwrap();
    fs::write(path.join("id"), &id).unwrap();
    if act != "open" {
        changesets
            .0
            .records
            .begin_commit(&id)
            .await
            .unwrap()
            .unwrap();
    }
    if act == "renamed" {
        fs::write(path.join("bundle/notes.md"), "changed").unwrap();
        fs::create_dir(path.join("bundle/new")).unwrap();
        fs::write(path.join("bundle/new/a.md"), "new").unwrap();
    }
    std::process::abort();
}

#[tokio::test]
async fn an_open_changeset_outlives_the_process() {
    // requirements-v1 §12.4(3): the database and the files of the changeset are all there is
    let (fixture, id) = killed(Fixture::new().await, "open").await;
    assert_eq!(fixture.text("notes.md"), "one\ntwo\n");
    assert!(!fixture.path("new").exists());
    let open = fixture.changesets.list(&fixture.owner).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].id, id);
    assert_eq!(open[0].changed, ["new/a.md", "notes.md"]);
    let read = fixture
        .changesets
        .read(&id, &fixture.owner, "notes.md", Version::Changeset);
    assert_eq!(read.await.unwrap(), b"changed");
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.text("notes.md"), "changed");
    assert_eq!(fixture.text("new/a.md"), "new");
}

#[tokio::test]
async fn a_process_that_ends_before_the_renames_leaves_an_open_changeset() {
    // requirements-v1 §12.4(3)
    let (fixture, id) = killed(Fixture::new().await, "committing").await;
    assert_eq!(fixture.text("notes.md"), "one\ntwo\n");
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(fixture.text("new/a.md"), "new");
}

#[tokio::test]
async fn a_process_that_ends_after_the_renames_leaves_a_committed_changeset() {
    // requirements-v1 §12.4(3): what became of it is read from the files
    let (fixture, id) = killed(Fixture::new().await, "renamed").await;
    let again = fixture.changesets.commit(&id, &fixture.owner).await;
    assert!(
        matches!(
            again,
            Err(ChangesetError::NotOpen {
                state: "committed",
                ..
            })
        ),
        "{again:?}"
    );
    assert_eq!(fixture.text("notes.md"), "changed");
    assert!(!fixture.state("changesets").join(&id).exists());
}

/// Files of the changeset that [`child_commits`] commits.
const FILES: usize = 200;

#[tokio::test]
async fn child_commits() {
    let Ok(path) = variable(COMMITTER) else {
        return;
    };
    let path = PathBuf::from(path);
    let host = toolhost::Host::builder().sandbox(super::sandbox());
    let host = host.policy(toolhost::Policy::parse(POLICY, "policy.yaml").unwrap());
    let host = host.state_root(path.join("state")).build().unwrap();
    let live = toolhost::LiveBundle::new(host.load(path.join("bundle")).await.unwrap());
    let changesets = crate::Changesets::new(&live, path.join("state")).unwrap();
    let owner = changesets.owner("default", "user-1");
    let id = changesets.open(&owner).await.unwrap().id;
    for file in 0..FILES {
        let name = format!("data/{file}.md");
        changesets.write(&id, &owner, &name, b"new").await.unwrap();
    }
    fs::write(path.join("id"), &id).unwrap();
    fs::write(path.join("ready"), "").unwrap();
    changesets.commit(&id, &owner).await.unwrap();
    fs::write(path.join("done"), "").unwrap();
    // Killed by the parent, or ends.
}

/// Names the directory of the fixture for [`child_commits`].
const COMMITTER: &str = "TOOLHOST_CHANGESETS_COMMITTER";

#[tokio::test]
async fn a_process_that_is_killed_while_it_commits_leaves_all_files_or_none() {
    // requirements-v1 §12.4(1), §12.4(3)
    let mut fixture = Fixture::new().await;
    fs::create_dir(fixture.path("data")).unwrap();
    for file in 0..FILES {
        fs::write(fixture.path(&format!("data/{file}.md")), "old").unwrap();
    }
    for round in 0..6_u64 {
        let Fixture { top, .. } = fixture;
        for name in ["ready", "done"] {
            let _ = fs::remove_file(top.path().join(name));
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "tests::killed::child_commits"]);
        child.env(COMMITTER, top.path());
        let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
        let started = std::time::Instant::now();
        while !top.path().join("ready").exists() {
            assert!(started.elapsed().as_secs() < 60, "the child does not start");
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        // Loading takes a few milliseconds, the renames about as many.
        tokio::time::sleep(std::time::Duration::from_millis(round * 6)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let id = fs::read_to_string(top.path().join("id")).unwrap();
        let is_done = top.path().join("done").exists();

        fixture = Fixture::load(top, POLICY).await;
        let open = fixture.changesets.list(&fixture.owner).await.unwrap();
        let is_open = open.iter().any(|it| it.id == id);
        let expected = if is_open { "old" } else { "new" };
        assert!(
            !(is_done && is_open),
            "a commit that was acknowledged stays"
        );
        for file in 0..FILES {
            let text = fixture.text(&format!("data/{file}.md"));
            assert_eq!(text, expected, "round {round}, file {file}");
        }
        if is_open {
            fixture
                .changesets
                .discard(&id, &fixture.owner)
                .await
                .unwrap();
        }
        for file in 0..FILES {
            fs::write(fixture.path(&format!("data/{file}.md")), "old").unwrap();
        }
    }
}
