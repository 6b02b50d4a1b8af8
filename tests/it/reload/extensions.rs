//! Extensions of agents, which survive when the bundle is loaded again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolhost::{
    LoadError, ToolStatus,
    extension::{ExtensionApi, ExtensionError},
    middleware::{Next, ToolCallContext},
};
use toolhost_tests::test_host::{code, open_step, tool_call};

use super::{Fixture, agent, documents, errors, tool};
use crate::extensions::{echo, item};

fn text(description: &str) -> String {
    tool("text", "text", "upper", description)
}

#[tokio::test]
async fn tools_and_middleware_survive_and_can_be_added_and_removed_later() {
    let fixture = Fixture::load(&text("x"), &["text"]).await;
    let first = fixture.agent();
    let kept: Arc<Mutex<Option<ExtensionApi>>> = Arc::default();
    let refuse = |call: ToolCallContext, next: Next<ToolCallContext>| async move {
        match call.tool_name() {
            "text__upper" => call.refuse("not today"),
            _ => next.run(call).await,
        }
    };
    let extended = first.extend("ext", |api| {
        *kept.lock().unwrap() = Some(api.clone());
        api.pipeline().tool_call(0, refuse)?;
        api.tools().register(item("ext__one"), echo)
    });
    extended.unwrap();
    fixture.live.reload().await.unwrap();
    let second = fixture.agent();
    assert_eq!(second.extensions(), ["ext"]);
    let refused = fixture.call("text__upper", json!({"text": "a"})).await;
    assert_eq!(code(&refused), "E_MIDDLEWARE");
    assert_eq!(
        fixture.call("ext__one", json!({})).await.status(),
        ToolStatus::Ok
    );

    // What the extension registers later is in every load.
    let api = kept.lock().unwrap().clone().unwrap();
    drop(first);
    api.tools().register(item("ext__two"), echo).unwrap();
    assert_eq!(
        fixture.call("ext__two", json!({})).await.status(),
        ToolStatus::Ok
    );
    let again = second.extend("ext", |_| Ok(()));
    assert!(matches!(again, Err(ExtensionError::Registered { .. })));
    assert!(second.remove_extension("ext"));
    fixture.live.reload().await.unwrap();
    assert!(fixture.agent().extensions().is_empty());
    let result = fixture.call("text__upper", json!({"text": "a"})).await;
    assert_eq!(result.output(), Some(&json!({"text": "A"})));
}

#[tokio::test]
async fn a_tool_with_the_name_of_an_extensions_tool_is_refused_with_its_place() {
    let fixture = Fixture::load(&text("x"), &["text"]).await;
    let register = |api: &ExtensionApi| api.tools().register(item("other__upper"), echo);
    fixture.agent().extend("ext", register).unwrap();
    let both = documents(&[text("x"), tool("other", "text", "upper", "x")]);
    fixture.write_manifest(&both);
    let Err(LoadError::Invalid { diagnostics, .. }) = fixture.live.reload().await else {
        panic!("the bundle loaded");
    };
    let errors = errors(diagnostics);
    let [finding] = &errors[..] else {
        panic!("{errors:?}");
    };
    assert_eq!(finding.code.as_str(), "E_CONFIG_DUPLICATE_NAME");
    let message = "the tool name other__upper is taken by extension 'ext' of agent default";
    assert_eq!(finding.message, message);
    assert_eq!(
        finding.place.position.map(|at| at.line),
        Some(3),
        "{finding:?}"
    );
    assert_eq!(
        fixture.call("other__upper", json!({})).await.status(),
        ToolStatus::Ok
    );

    // Without the extension it loads, and then the name is the bundle's.
    assert!(fixture.agent().remove_extension("ext"));
    let before = fixture.agent();
    fixture.live.reload().await.unwrap();
    let taken = before.extend("late", register);
    assert!(matches!(taken, Err(ExtensionError::NameTaken { owner, .. }) if owner == "the bundle"));
}

#[tokio::test]
async fn an_agent_that_comes_back_has_its_extensions_and_a_new_one_has_none() {
    let with = |names: &[&str]| {
        let agents = names.iter().map(|name| agent(name, &["text"]));
        documents(&[text("x")].into_iter().chain(agents).collect::<Vec<_>>())
    };
    let fixture = Fixture::load(&with(&["a", "b"]), &["text"]).await;
    let register = |api: &ExtensionApi| api.tools().register(item("ext__one"), echo);
    let first = fixture.live.current().agent("a").unwrap();
    first.extend("ext", register).unwrap();
    drop(first);
    fixture.write_manifest(&with(&["b", "c"]));
    let current = fixture.live.reload().await.unwrap();
    assert!(current.agent("a").is_err());
    for name in ["b", "c"] {
        assert!(
            current.agent(name).unwrap().extensions().is_empty(),
            "{name}"
        );
    }
    drop(current);
    fixture.live.reload().await.unwrap();
    fixture.write_manifest(&with(&["a"]));
    let current = fixture.live.reload().await.unwrap();
    let agent = current.agent("a").unwrap();
    assert_eq!(agent.extensions(), ["ext"]);
    assert!(agent.catalog().get("ext__one").is_some());
}

#[tokio::test]
async fn an_update_can_extend_a_new_agent_before_it_is_current() {
    let fixture = Fixture::load(&text("x"), &["text"]).await;
    fixture.write_manifest(&documents(&[text("x"), agent("new", &["text"])]));
    let updated = fixture.live.update(|current| async move {
        let next = current.reload().await.map_err(|error| error.to_string())?;
        for agent in next
            .agents()
            .iter()
            .filter(|agent| agent.extensions().is_empty())
        {
            let extended = agent.extend("ext", |api| api.tools().register(item("ext__one"), echo));
            extended.map_err(|error| error.to_string())?;
        }
        Ok::<_, String>(next)
    });
    updated.await.unwrap();
    assert_eq!(fixture.agent().name(), "new");
    assert_eq!(
        fixture.call("ext__one", json!({})).await.status(),
        ToolStatus::Ok
    );
}

#[tokio::test]
async fn a_listener_hears_of_reloads_and_of_tools_that_an_extension_registers() {
    let fixture = Fixture::load(&text("the first"), &["text"]).await;
    let mut changes = fixture.live.changes();
    let within = Duration::from_millis(50);
    assert!(
        tokio::time::timeout(within, changes.changed())
            .await
            .is_err()
    );

    fixture.write_manifest(&text("the second"));
    fixture.live.reload().await.unwrap();
    let current = tokio::time::timeout(within, changes.changed())
        .await
        .unwrap();
    let catalog = current.only_agent().unwrap().catalog();
    let described = catalog.get("text__upper").unwrap().description.as_deref();
    assert_eq!(described, Some("the second"));
    assert!(
        tokio::time::timeout(within, changes.changed())
            .await
            .is_err()
    );

    // Also if the agent is of an earlier load.
    let register = |api: &ExtensionApi| api.tools().register(item("ext__one"), echo);
    current
        .only_agent()
        .unwrap()
        .extend("ext", register)
        .unwrap();
    let current = tokio::time::timeout(within, changes.changed())
        .await
        .unwrap();
    assert!(
        current
            .only_agent()
            .unwrap()
            .catalog()
            .get("ext__one")
            .is_some()
    );

    fixture.write_manifest("kind: [");
    fixture.live.reload().await.unwrap_err();
    assert!(
        tokio::time::timeout(within, changes.changed())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn an_agent_that_first_appears_in_a_reload_has_the_tools_that_search_the_others() {
    let with = |agents: &[&str]| {
        let agents = agents.iter().map(|name| agent(name, &["text"]));
        documents(&[vec![text("x")], agents.collect()].concat())
    };
    let fixture = Fixture::load(&with(&["a"]), &["text"]).await;
    fixture.live.current().add_catalog_tools().unwrap();
    fixture.write_manifest(&with(&["a", "b"]));
    let loaded = fixture.live.reload().await.unwrap();
    for name in ["a", "b"] {
        let agent = loaded.agent(name).unwrap();
        assert_eq!(agent.extensions(), ["tools"], "{name}");
        let step = open_step(&agent, "instance", &fixture.work.workdir).await;
        let search = tool_call("tools__search", json!({"query": "upper"}));
        let found = step.execute_without_message(search).await;
        assert_eq!(found.output().unwrap()["tools"][0]["name"], "text__upper");
    }
    // From one that an embedder took them from, they stay away.
    assert!(loaded.agent("b").unwrap().remove_extension("tools"));
    let loaded = fixture.live.reload().await.unwrap();
    assert!(loaded.agent("b").unwrap().extensions().is_empty());
}
