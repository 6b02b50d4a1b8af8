//! When a committed bundle takes effect.

use serde_json::json;
use toolhost::TurnStart;

use super::{Fixture, POLICY, call, code, documents, guest, output, tool};

#[tokio::test]
async fn a_committed_bundle_takes_effect_at_the_next_step_and_never_in_the_one_that_commits() {
    // requirements-v1 §12.4: the tools open, edit and commit; the new bundle is active at the next step
    let fixture = Fixture::new().await;
    let start = TurnStart::new("turn-1").with_live_bundle(&fixture.live);
    let turn = fixture.instance().open_turn(start).await.unwrap();
    let step = turn.open_step().await.unwrap();
    let opened = call(&step, "changeset__open", json!({})).await;
    let id = output(&opened)["id"].as_str().unwrap().to_owned();
    let read = call(
        &step,
        "changeset__read",
        json!({"id": id, "path": "goondan.yaml"}),
    )
    .await;
    assert_eq!(output(&read)["content"], tool("text", "text", "upper"));
    let manifest = documents(&[
        tool("text", "text", "upper"),
        tool("shout", "text", "upper"),
    ]);
    let args = json!({"id": id, "path": "goondan.yaml", "content": manifest});
    output(&call(&step, "changeset__write", args).await);
    let diff = call(&step, "changeset__diff", json!({"id": id})).await;
    let changed = &output(&diff)["changes"][0];
    assert_eq!(changed["path"], "goondan.yaml");
    assert_eq!(changed["change"], "changed");
    assert!(
        changed["diff"].as_str().unwrap().contains("shout"),
        "{changed}"
    );
    let before = step.catalog().items().len();
    let committed = call(&step, "changeset__commit", json!({"id": id})).await;
    assert_eq!(output(&committed)["status"], "ok", "{committed:?}");
    assert_eq!(fixture.text("goondan.yaml"), manifest);

    // The step that commits keeps its catalog and its tools.
    assert_eq!(step.catalog().items().len(), before);
    let own = call(&step, "text__upper", json!({"text": "a"})).await;
    assert_eq!(output(&own), &json!({"text": "A"}));
    let new = call(&step, "shout__upper", json!({"text": "a"})).await;
    assert_eq!(code(&new), "E_TOOL_NOT_IN_CATALOG");
    step.close(()).await.unwrap();

    let next = turn.open_step().await.unwrap();
    let new = call(&next, "shout__upper", json!({"text": "b"})).await;
    assert_eq!(output(&new), &json!({"text": "B"}));
    next.close(()).await.unwrap();
    turn.close(()).await.unwrap();
}

#[tokio::test]
async fn a_turn_without_the_live_bundle_keeps_its_tools_and_the_next_turn_has_the_new_ones() {
    // requirements-v1 §12.4
    let fixture = Fixture::new().await;
    let turn = fixture.instance().open_turn("turn-1").await.unwrap();
    let id = fixture.open().await;
    fixture
        .write(&id, "goondan.yaml", tool("other", "text", "upper"))
        .await;
    fixture.commit(&id).await;
    let step = turn.open_step().await.unwrap();
    assert!(step.catalog().get("text__upper").is_some());
    assert!(step.catalog().get("other__upper").is_none());
    assert_eq!(fixture.tools(), ["other__upper"]);
}

#[tokio::test]
async fn a_changeset_adds_a_tool_with_a_built_component() {
    // requirements-v1 §12.4
    let fixture = Fixture::new().await;
    let id = fixture.open().await;
    let manifest = documents(&[
        tool("text", "text", "upper"),
        tool("echo", "tools/new/echo_raw", "run"),
    ]);
    fixture
        .write(&id, "tools/new/echo_raw.wasm", guest("echo_raw"))
        .await;
    fixture.write(&id, "goondan.yaml", &manifest).await;
    assert!(!fixture.path("tools").exists());
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, crate::CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    assert_eq!(
        std::fs::read(fixture.path("tools/new/echo_raw.wasm")).unwrap(),
        guest("echo_raw")
    );
    let turn = fixture.instance().open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    let called = call(&step, "echo__run", json!({"raw": "{\"a\":1}"})).await;
    assert!(step.catalog().get("echo__run").is_some());
    assert_ne!(code(&called), "E_TOOL_NOT_IN_CATALOG");
}

#[tokio::test]
async fn an_agent_that_a_commit_removes_has_no_further_step() {
    // requirements-v1 §12.4
    // Under a strict policy, an agent that it names cannot be removed.
    let policy = format!("strict: false\n{POLICY}");
    let fixture = Fixture::with_policy(&policy).await;
    let start = TurnStart::new("turn-1").with_live_bundle(&fixture.live);
    let turn = fixture.instance().open_turn(start).await.unwrap();
    let agent = json!({
        "apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": {"name": "other"},
        "spec": {"tools": [{"ref": "Tool/text"}]},
    });
    let id = fixture.open().await;
    let manifest = documents(&[tool("text", "text", "upper"), agent.to_string()]);
    fixture.write(&id, "goondan.yaml", manifest).await;
    let committed = fixture.commit(&id).await;
    assert!(
        matches!(committed, crate::CommitOutcome::Ok { .. }),
        "{committed:?}"
    );
    let refused = turn.open_step().await.unwrap_err();
    assert_eq!(refused.code.to_string(), "E_TOOL_UNLOADED");
    assert!(refused.message.contains("no agent 'default'"), "{refused}");
}
