//! A changed, a broken, a moved and a removed bundle.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolhost::{BundleWatch, LoadError, LoadProgress, ToolStatus, sandbox::CodeOrigin};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{open_step, tool_call, write_bundle};

use super::{Fixture, builder, documents, errors, tool};

fn text(description: &str) -> String {
    tool("text", "text", "upper", description)
}

#[tokio::test]
async fn a_changed_description_appears_and_open_steps_keep_theirs() {
    let fixture = Fixture::load(&text("the first"), &["text"]).await;
    let before = fixture.live.current();
    let step = open_step(&fixture.agent(), "key", &fixture.work.workdir).await;
    fixture.write_manifest(&text("the second"));
    let reloaded = fixture.live.reload().await.unwrap();
    let description = |bundle: &toolhost::LoadedBundle| {
        let catalog = bundle.only_agent().unwrap().catalog();
        let item = catalog.get("text__upper").unwrap();
        item.description.clone().unwrap()
    };
    assert_eq!(description(&reloaded), "the second");
    assert_eq!(description(&fixture.live.current()), "the second");
    assert_eq!(description(&before), "the first");
    let item = step.catalog().get("text__upper").unwrap();
    assert_eq!(item.description.as_deref(), Some("the first"));
    let old = step.execute_without_message(tool_call("text__upper", json!({"text": "a"})));
    let new = fixture.call("text__upper", json!({"text": "b"}));
    assert_eq!(old.await.output(), Some(&json!({"text": "A"})));
    assert_eq!(new.await.output(), Some(&json!({"text": "B"})));
}

#[tokio::test]
async fn a_bad_manifest_names_the_place_and_the_earlier_bundle_stays() {
    let fixture = Fixture::load(&text("the first"), &["text"]).await;
    let not_loaded = async |manifest: &str| {
        fixture.write_manifest(manifest);
        match fixture.live.reload().await {
            Err(LoadError::Invalid { diagnostics, .. }) => errors(diagnostics),
            other => panic!("{other:?}"),
        }
    };
    let found = not_loaded(&text("x").replace("\"spec\"", "\"sepc\"")).await;
    assert!(found[0].place.position.is_some(), "{found:?}");
    assert!(found[0].place.file.ends_with("goondan.yaml"), "{found:?}");

    let found = not_loaded(&tool("text", "missing", "upper", "x")).await;
    assert_eq!(found[0].code.as_str(), "E_CONFIG_ENTRY_NOT_FOUND");
    assert!(found[0].place.position.is_some(), "{found:?}");

    let found = not_loaded(&tool("text", "text", "no-such-handler", "x")).await;
    assert_eq!(found[0].code.as_str(), "E_COMPONENT_MISSING_HANDLER");

    let result = fixture.call("text__upper", json!({"text": "a"})).await;
    assert_eq!(result.output(), Some(&json!({"text": "A"})));
    fixture.write_manifest(&text("the third"));
    fixture.live.reload().await.unwrap();
}

#[tokio::test]
async fn a_bundle_that_was_removed_from_the_disk_keeps_serving() {
    let fixture = Fixture::load(&text("x"), &["text"]).await;
    fs::remove_dir_all(fixture.dir.path()).unwrap();
    let error = fixture.live.reload().await.unwrap_err();
    assert!(matches!(error, LoadError::Read { .. }), "{error:?}");
    assert!(!error.help().is_empty());
    let result = fixture.call("text__upper", json!({"text": "a"})).await;
    assert_eq!(result.output(), Some(&json!({"text": "A"})));

    fs::create_dir(fixture.dir.path()).unwrap();
    write_bundle(fixture.dir.path(), &text("back"), &["text"]);
    fixture.live.reload().await.unwrap();
    let result = fixture.call("text__upper", json!({"text": "a"})).await;
    assert_eq!(result.status(), ToolStatus::Ok);
}

#[tokio::test]
async fn unchanged_components_are_used_again_and_changed_ones_are_prepared() {
    let origins: Arc<Mutex<Vec<(String, CodeOrigin)>>> = Arc::default();
    let seen = Arc::clone(&origins);
    let host = builder().on_progress(move |progress| {
        if let LoadProgress::Prepared { tool, origin, .. } = progress {
            seen.lock().unwrap().push((tool.to_string(), *origin));
        }
    });
    let both = documents(&[tool("a", "text", "upper", "x"), tool("b", "b", "run", "x")]);
    let fixture = Fixture::load_in(
        host.build().unwrap(),
        &tool("a", "text", "upper", ""),
        &["text"],
    )
    .await;
    super::replace_component(&fixture.path("b.wasm"), "trap");
    fixture.write_manifest(&both);
    origins.lock().unwrap().clear();
    fixture.live.reload().await.unwrap();
    super::replace_component(&fixture.path("b.wasm"), "echo_raw");
    fixture.live.reload().await.unwrap();
    let origins = origins.lock().unwrap();
    let is_reused =
        |(tool, origin): &(String, CodeOrigin)| (tool.clone(), *origin == CodeOrigin::Reused);
    let origins: Vec<_> = origins.iter().map(is_reused).collect();
    let expected = [("a", true), ("b", false), ("a", true), ("b", false)];
    assert_eq!(
        origins,
        expected.map(|(tool, reused)| (tool.to_owned(), reused))
    );
}

#[tokio::test]
async fn a_link_to_another_release_is_followed_and_the_workspaces_stay() {
    let state = tempfile::tempdir().unwrap();
    let top = tempfile::tempdir().unwrap();
    for release in ["one", "two"] {
        let dir = top.path().join(release);
        fs::create_dir(&dir).unwrap();
        write_bundle(&dir, &text(release), &["text"]);
    }
    let current = top.path().join("current");
    symlink("one", &current).unwrap();
    let host = builder().state_root(state.path()).build().unwrap();
    let first = host.load(&current).await.unwrap();
    let next = top.path().join("next");
    symlink("two", &next).unwrap();
    fs::rename(next, &current).unwrap();
    let second = first.reload().await.unwrap();
    let catalog = second.only_agent().unwrap().catalog();
    let item = catalog.get("text__upper").unwrap();
    assert_eq!(item.description.as_deref(), Some("two"));
    let workspace = |bundle: &toolhost::LoadedBundle| bundle.instance_path("user-1").unwrap();
    assert_eq!(workspace(&first), workspace(&second));
}

#[tokio::test]
async fn an_update_that_is_dropped_or_fails_leaves_the_current_bundle() {
    let fixture = Fixture::load(&text("the first"), &["text"]).await;
    fixture.write_manifest(&text("the second"));
    let endless = fixture.live.update(|current| async move {
        let next = current.reload().await;
        std::future::pending::<()>().await;
        next
    });
    let waited = tokio::time::timeout(std::time::Duration::from_millis(200), endless).await;
    assert!(waited.is_err());
    let refused = fixture.live.update(|_| async { Err("refused") }).await;
    assert_eq!(refused.unwrap_err(), "refused");
    let item = |bundle: &toolhost::LoadedBundle| {
        let catalog = bundle.only_agent().unwrap().catalog();
        catalog.get("text__upper").unwrap().description.clone()
    };
    assert_eq!(item(&fixture.live.current()).as_deref(), Some("the first"));
    // The dropped update does not block the next one.
    let reloaded = fixture.live.reload().await.unwrap();
    assert_eq!(item(&reloaded).as_deref(), Some("the second"));
}

#[tokio::test]
async fn the_files_of_a_bundle_are_protected_until_its_last_holder_is_dropped() {
    let fixture = {
        let host = builder().build().unwrap();
        let manifest = tool("write", "old", "run", "x");
        Fixture::load_files(host, &manifest, &[("old", "write_bytes")]).await
    };
    let workdir = fixture
        .live
        .current()
        .host()
        .workdir(fixture.dir.path())
        .unwrap();
    let write = async |file: &str| {
        let step = open_step(&fixture.agent(), "key", &workdir).await;
        let call = tool_call("write__run", json!({"path": file, "bytes": 1}));
        let result = step.execute_without_message(call).await;
        result.output().unwrap()["error"].is_null()
    };
    let held = fixture.agent();
    fs::copy(fixture.path("old.wasm"), fixture.path("new.wasm")).unwrap();
    fixture.write_manifest(&tool("write", "new", "run", "x"));
    fixture.live.reload().await.unwrap();
    for file in ["/old.wasm", "/new.wasm", "/goondan.yaml"] {
        assert!(!write(file).await, "{file}");
    }
    drop(held);
    assert!(write("/old.wasm").await);
    assert_eq!(fs::read(fixture.path("old.wasm")).unwrap().len(), 1);
    assert!(!write("/new.wasm").await);
    assert!(!write("/goondan.yaml").await);
}

#[tokio::test]
async fn a_reload_that_differs_from_the_lock_is_refused_until_the_lock_is_changed() {
    let fixture = Fixture::load(&text("the first"), &["text"]).await;
    let lock = || fixture.live.current().lock().to_text();
    fs::write(fixture.path("toolhost.lock"), lock()).unwrap();
    fixture.live.reload().await.unwrap();
    let mut watch = BundleWatch::new(fixture.dir.path());
    fixture.write_manifest(&text("the second"));
    let sandbox = sandbox();
    watch.changed(&sandbox).await;
    let Err(LoadError::Invalid { diagnostics, .. }) = fixture.live.reload().await else {
        panic!("it was loaded");
    };
    let found = errors(diagnostics);
    assert_eq!(found[0].code.as_str(), "E_CONFIG_LOCK", "{found:?}");
    let shown = |bundle: &toolhost::LoadedBundle| {
        let catalog = bundle.only_agent().unwrap().catalog();
        catalog
            .get("text__upper")
            .unwrap()
            .description
            .clone()
            .unwrap()
    };
    assert_eq!(shown(&fixture.live.current()), "the first");
    // A new lock is a change of the bundle.
    let host = fixture.live.current().host().ignoring_lock();
    let now = host.load(fixture.dir.path()).await.unwrap();
    fs::write(fixture.path("toolhost.lock"), now.lock().to_text()).unwrap();
    watch.changed(&sandbox).await;
    assert_eq!(shown(&fixture.live.reload().await.unwrap()), "the second");
}
