//! Who may change a bundle.

use std::fs;

use toolhost::{Host, LiveBundle, Policy};

use crate::{ChangesetError, Changesets};

use super::{Fixture, POLICY, code, sandbox};

fn has_tools(fixture: &Fixture) -> bool {
    let catalog = fixture.live.current().only_agent().unwrap().catalog();
    let mut names = catalog.items().iter().map(|item| item.name.to_string());
    names.any(|name| name.starts_with("changeset__"))
}

#[tokio::test]
async fn an_agent_that_the_policy_does_not_name_has_no_tools_and_opens_no_changeset() {
    // requirements-v1 §12.4
    for policy in [
        "",
        "agents: {default: {changesets: false}}",
        "agents: {default: {}}",
    ] {
        let fixture = Fixture::with_policy(policy).await;
        assert!(!has_tools(&fixture), "{policy}");
        let refused = fixture.changesets.open(&fixture.owner).await;
        assert!(
            matches!(refused, Err(ChangesetError::NotGranted { .. })),
            "{refused:?}"
        );
        let changesets = fixture.state("changesets");
        assert!(!changesets.exists(), "{policy}");
    }
    assert!(has_tools(&Fixture::new().await));
}

#[tokio::test]
async fn only_the_paths_of_the_policy_can_be_changed() {
    // requirements-v1 §12.4
    let fixture =
        Fixture::with_policy("agents: {default: {changesets: [goondan.yaml, tools/]}}").await;
    let id = fixture.open().await;
    fixture.write(&id, "tools/a.md", "new").await;
    fixture
        .write(&id, "./goondan.yaml", fixture.text("goondan.yaml"))
        .await;
    for path in ["notes.md", "tools", "toolsx/a.md", "goondan.yaml.bak"] {
        let refused = fixture
            .changesets
            .write(&id, &fixture.owner, path, b"x")
            .await;
        assert!(
            matches!(refused, Err(ChangesetError::NotGrantedPath { .. })),
            "{path}: {refused:?}"
        );
        let refused = fixture.changesets.delete(&id, &fixture.owner, path).await;
        assert!(
            matches!(refused, Err(ChangesetError::NotGrantedPath { .. })),
            "{path}: {refused:?}"
        );
    }
    fixture.commit(&id).await;
    assert_eq!(fixture.text("notes.md"), "one\ntwo\n");
    assert_eq!(fixture.text("tools/a.md"), "new");
}

#[tokio::test]
async fn another_instance_and_another_agent_do_not_find_a_changeset() {
    let fixture = Fixture::new().await;
    let id = fixture.open().await;
    let other = fixture.changesets.owner("default", "user-2");
    let refused = fixture.changesets.commit(&id, &other).await;
    assert!(
        matches!(refused, Err(ChangesetError::Unknown { .. })),
        "{refused:?}"
    );
    let stranger = fixture.changesets.owner("stranger", "user-1");
    let refused = fixture.changesets.diff(&id, &stranger).await;
    assert!(
        matches!(refused, Err(ChangesetError::NotGranted { .. })),
        "{refused:?}"
    );
    assert!(fixture.changesets.list(&other).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_bundle_beside_its_policy_cannot_be_changed() {
    // An agent that could change the policy would grant itself anything.
    let fixture = Fixture::new().await;
    let policy = fixture.path("policy.yaml");
    fs::write(&policy, POLICY).unwrap();
    let host = Host::builder().sandbox(sandbox());
    let host = host.policy(Policy::parse(POLICY, "policy.yaml").unwrap());
    let host = host
        .keep_out_of("the policy file", &policy)
        .build()
        .unwrap();
    let live = LiveBundle::new(host.load(fixture.path("")).await.unwrap());
    let changesets = Changesets::new(&live, fixture.state("")).unwrap();
    let refused = changesets
        .open(&changesets.owner("default", "user-1"))
        .await;
    let Err(error @ ChangesetError::Folder(_)) = refused else {
        panic!("{refused:?}");
    };
    let error = error.into_handler_error();
    assert!(error.message.contains("the policy file"), "{error:?}");
}

#[tokio::test]
async fn a_state_root_on_another_file_system_is_refused_when_a_changeset_is_opened() {
    let fixture = Fixture::new().await;
    let other = tempfile::tempdir_in("/dev/shm").unwrap();
    let changesets = Changesets::new(&fixture.live, other.path()).unwrap();
    let refused = changesets.open(&fixture.owner).await;
    assert!(
        matches!(refused, Err(ChangesetError::Staging(_))),
        "{refused:?}"
    );
    assert!(!other.path().join("changesets").exists());
}

#[tokio::test]
async fn the_tools_end_with_the_changesets() {
    let fixture = Fixture::new().await;
    let turn = fixture.instance().open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    let Fixture {
        top,
        live,
        changesets,
        ..
    } = fixture;
    drop(changesets);
    let ended = super::call(&step, "changeset__open", serde_json::json!({})).await;
    assert_eq!(code(&ended), "E_TOOL");
    drop((top, live));
}
