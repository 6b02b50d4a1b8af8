//! Loading a bundle: all findings together, and all or nothing.

mod built;
mod component_source;
mod credentials;
mod described;
mod limits;
mod parallel;
mod to_serve;

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolhost::{
    Host, LoadError, LoadProgress, ResourceName, ToolStatus,
    manifest::{Declares, Diagnostic, Severity},
    sandbox::CodeOrigin,
    tool::Denial,
};
use toolhost_tests::test_host::{TestHost, code, write_bundle, yaml};
use toolhost_tests::{guest, sandbox};

fn host() -> Host {
    Host::builder().sandbox(sandbox()).build().unwrap()
}

/// Returns the findings of a bundle that does not load.
async fn findings(manifest: &str, files: &[(&str, Vec<u8>)]) -> Vec<Diagnostic> {
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), manifest, &[]);
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    match host().load(dir.path()).await {
        Err(LoadError::Invalid { diagnostics, .. }) => diagnostics,
        other => panic!("the bundle loaded: {other:?}"),
    }
}

fn codes(findings: &[Diagnostic]) -> Vec<&str> {
    let errors = findings.iter().filter(|finding| finding.is_error());
    errors.map(|finding| finding.code.as_str()).collect()
}

#[tokio::test]
async fn an_invalid_entry_gives_a_finding_with_position_and_help() {
    // tool-spec-v2 §2.7, §15
    let mut truncated = guest("text");
    truncated.truncate(truncated.len() / 2);
    let core = b"\0asm\x01\0\0\0".to_vec();
    let empty_component = b"\0asm\x0d\0\x01\0".to_vec();
    for (what, bytes, expected, says) in [
        (
            "empty",
            Vec::new(),
            "E_COMPONENT_INVALID",
            "the file is empty",
        ),
        (
            "text",
            b"export const handlers = {}".to_vec(),
            "E_COMPONENT_INVALID",
            "not WebAssembly",
        ),
        (
            "core module",
            core,
            "E_COMPONENT_INVALID",
            "core WebAssembly module",
        ),
        (
            "truncated",
            truncated,
            "E_COMPONENT_INVALID",
            "not a valid component",
        ),
        (
            "exports nothing",
            empty_component,
            "E_COMPONENT_WRONG_WORLD",
            "exports nothing",
        ),
        (
            "another contract",
            guest("altered_contract"),
            "E_COMPONENT_WRONG_WORLD",
            "interfaces differ from the host's",
        ),
        (
            "traps in describe",
            guest("describe_trap"),
            "E_COMPONENT_DESCRIBE_FAILED",
            "describe",
        ),
        (
            "too many handlers",
            guest("describe_flood"),
            "E_COMPONENT_DESCRIBE_FAILED",
            "257 handlers",
        ),
    ] {
        let manifest = yaml(&[("t", "t", &["run"])]);
        let found = findings(&manifest, &[("t.wasm", bytes)]).await;
        assert_eq!(codes(&found), [expected], "{what}: {found:?}");
        let finding = &found[0];
        assert!(
            finding.message.contains(says),
            "{what}: {}",
            finding.message
        );
        assert!(
            finding.message.contains("tool t: ./t.wasm"),
            "{}",
            finding.message
        );
        assert!(
            finding.place.document_path.ends_with("spec.entry"),
            "{:?}",
            finding.place
        );
        assert!(finding.place.position.is_some() && !finding.help.is_empty());
    }
}

#[tokio::test]
async fn control_characters_of_an_entry_are_escaped_in_findings() {
    let entry = "t\u{1b}[2J\u{202e}.wasm";
    let manifest = json!({
        "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "t"},
        "spec": {"entry": entry, "exports": [{"name": "nope"}]},
    });
    for bytes in [b"no".to_vec(), guest("text")] {
        let found = findings(&manifest.to_string(), &[(entry, bytes)]).await;
        for finding in found {
            assert!(
                !finding.message.contains(['\u{1b}', '\u{202e}']),
                "{finding}"
            );
            assert!(finding.message.contains(r"t\u{1b}[2J"), "{finding}");
        }
    }
}

#[tokio::test]
async fn an_export_without_a_handler_is_an_error_and_a_handler_without_an_export_a_note() {
    // tool-spec-v2 §15: each export.name has a handler
    let manifest = yaml(&[("two", "two", &["a", "c", "d"])]);
    let found = findings(&manifest, &[("two.wasm", guest("two_handlers"))]).await;
    assert_eq!(codes(&found), ["E_COMPONENT_MISSING_HANDLER"; 2]);
    assert!(
        found[0]
            .message
            .contains("handler 'c' is not served by ./two.wasm, which serves a, b")
    );
    assert!(found[0].place.document_path.contains("exports[1]"));

    let test_host = TestHost::with_tools(&[("two", "two_handlers", &["a"])], "").await;
    let notes = test_host.loaded.diagnostics();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].severity, Severity::Note);
    assert_eq!(notes[0].code.as_str(), "E_COMPONENT_EXTRA_HANDLER");
    assert!(notes[0].message.ends_with("not exported: b"));
}

#[tokio::test]
async fn two_tools_can_share_one_component() {
    let tools: &[_] = &[
        ("one", "two_handlers", &["a"] as &[&str]),
        ("other", "two_handlers", &["b"]),
    ];
    let test_host = TestHost::with_tools(tools, "").await;
    for (name, handler) in [("one__a", "a"), ("other__b", "b")] {
        let result = test_host.call(name, json!({})).await;
        assert_eq!(result.output().unwrap()["handler"], handler);
    }
    assert_eq!(
        code(&test_host.call("one__b", json!({})).await),
        "E_TOOL_NOT_IN_CATALOG"
    );
}

#[tokio::test]
async fn all_findings_are_reported_together_and_nothing_loads() {
    let manifest = yaml(&[
        ("missing", "missing", &["run"]),
        ("broken", "broken", &["run"]),
        ("fine", "fine", &["upper"]),
        ("partly", "fine", &["lower"]),
    ]);
    let files = [
        ("broken.wasm", b"no".to_vec()),
        ("fine.wasm", guest("text")),
    ];
    let found = findings(&manifest, &files).await;
    let expected = [
        "E_CONFIG_ENTRY_NOT_FOUND",
        "E_COMPONENT_INVALID",
        "E_COMPONENT_MISSING_HANDLER",
    ];
    assert_eq!(codes(&found), expected);
}

#[tokio::test]
async fn an_entry_outside_the_bundle_is_not_read() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("text.wasm"), guest("text")).unwrap();
    let manifest = |entry: &str| {
        json!({
            "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "t"},
            "spec": {"entry": entry, "exports": [{"name": "upper"}]},
        })
        .to_string()
    };
    let dir = tempfile::tempdir().unwrap();
    symlink(
        outside.path().join("text.wasm"),
        dir.path().join("link.wasm"),
    )
    .unwrap();
    symlink(outside.path(), dir.path().join("linked")).unwrap();
    let absolute = outside.path().join("text.wasm");
    let up = format!(
        "../{}/text.wasm",
        outside.path().file_name().unwrap().to_str().unwrap()
    );
    for entry in [
        absolute.to_str().unwrap(),
        up.as_str(),
        "./link.wasm",
        "linked/text.wasm",
        ".",
    ] {
        write_bundle(dir.path(), &manifest(entry), &[]);
        let refused = host().load(dir.path()).await;
        assert!(
            matches!(refused, Err(LoadError::Invalid { .. })),
            "{entry}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn source_without_a_build_tool_gives_a_finding() {
    for (entry, next) in [
        ("./lib.rs", "Cargo.toml"),
        ("./main.go", "Build it to a component"),
    ] {
        let manifest = json!({"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "bash"},
            "spec": {"entry": entry, "exports": [{"name": "exec"}]}});
        let found = findings(&manifest.to_string(), &[(entry, b"code".to_vec())]).await;
        assert_eq!(codes(&found), ["E_CONFIG_ENTRY_NOT_FOUND"]);
        let message = &found[0].message;
        assert!(
            message.contains("source code, not a WASI component"),
            "{message}"
        );
        assert!(found[0].help.contains(next), "{}", found[0].help);
    }
}

#[tokio::test]
async fn an_agent_has_the_tools_that_it_names() {
    // tool-spec-v2 §2.1(2)
    let manifest = format!(
        "{}\n---\n{}\n---\n{}",
        yaml(&[("text", "text", &["upper"]), ("echo", "echo", &["say"])]),
        json!({"apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": {"name": "both"},
               "spec": {"tools": ["Tool/echo", {"kind": "Tool", "name": "text"}]}}),
        json!({"apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": {"name": "none"}, "spec": {}}),
    );
    let test_host = TestHost::load(&manifest, &["text", "echo"], "", Some("both")).await;
    let names = |agent: &str| -> Vec<String> {
        let catalog = test_host.loaded.agent(agent).unwrap().catalog();
        catalog
            .items()
            .iter()
            .map(|item| item.name.to_string())
            .collect()
    };
    assert_eq!(names("both"), ["echo__say", "text__upper"]);
    assert!(names("none").is_empty());
    assert_eq!(test_host.loaded.declares(), Declares::Agents);
    let unknown = test_host.loaded.agent("other").unwrap_err().to_string();
    assert!(unknown.contains("both, none"), "{unknown}");
    assert!(test_host.loaded.only_agent().is_err());

    let implicit = TestHost::with_tools(&[("text", "text", &["upper"])], "").await;
    assert_eq!(implicit.loaded.declares(), Declares::OnlyTools);
    assert_eq!(implicit.loaded.only_agent().unwrap().name(), "default");
}

#[tokio::test]
async fn describe_fills_in_what_the_manifest_omits() {
    let manifest = r#"{"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "text"},
        "spec": {"entry": "./text.wasm", "exports": [
            {"name": "upper"}, {"name": "count", "description": "Mine", "parameters": {"type": "object"}}]}}"#;
    let test_host = TestHost::load(manifest, &["text"], "", None).await;
    let items = test_host.step.catalog().items();
    assert!(
        items[0]
            .description
            .as_deref()
            .unwrap()
            .contains("upper case")
    );
    assert!(
        items[0]
            .parameters
            .as_ref()
            .unwrap()
            .as_object()
            .contains_key("required")
    );
    assert_eq!(items[1].description.as_deref(), Some("Mine"));
    assert!(
        !items[1]
            .parameters
            .as_ref()
            .unwrap()
            .as_object()
            .contains_key("required")
    );
}

#[tokio::test]
async fn the_policy_applies_to_each_agent_and_tool() {
    let manifest = format!(
        "{}\n---\n{}\n---\n{}",
        yaml(&[
            ("writer", "write_bytes", &["run"]),
            ("look", "look_at_environment", &["run"])
        ]),
        json!({"apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": {"name": "reader"},
               "spec": {"tools": ["Tool/writer", "Tool/look"]}}),
        json!({"apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": {"name": "owner"},
               "spec": {"tools": ["Tool/writer", "Tool/look"]}}),
    );
    let policy = "tools: {writer: {readOnly: true}, look: {env: {LANG: ko}}}\n\
                  agents: {owner: {tools: {writer: {readOnly: false}}}}";
    let guests = ["write_bytes", "look_at_environment"];
    let args = json!({"path": "/f", "bytes": 3});

    let reader = TestHost::load(&manifest, &guests, policy, Some("reader")).await;
    let result = reader.call("writer__run", args.clone()).await;
    assert!(!reader.work.path("f").exists(), "{result:?}");
    assert_eq!(result.usage().denials, [Denial::ReadOnly]);
    let seen = reader.call("look__run", json!({})).await;
    assert_eq!(seen.output().unwrap()["env"], json!({"LANG": "ko"}));

    let owner = TestHost::load(&manifest, &guests, policy, Some("owner")).await;
    let result = owner.call("writer__run", args).await;
    assert_eq!(result.status(), ToolStatus::Ok);
    assert!(owner.work.path("f").exists());
    assert!(result.usage().denials.is_empty());
}

#[tokio::test]
async fn progress_is_reported_for_each_component() {
    let reports: Arc<Mutex<Vec<LoadProgress>>> = Arc::default();
    let ours = Arc::clone(&reports);
    let dir = tempfile::tempdir().unwrap();
    write_bundle(
        dir.path(),
        &yaml(&[("text", "text", &["upper"])]),
        &["text"],
    );
    let host = Host::builder()
        .sandbox(sandbox())
        .on_progress(move |progress| {
            // It may be in the cache, or compiled by another test.
            if !matches!(progress, LoadProgress::Slow { .. }) {
                ours.lock().unwrap().push(progress.clone());
            }
        })
        .build()
        .unwrap();
    host.load(dir.path()).await.unwrap();
    host.load(dir.path()).await.unwrap();
    let reports = reports.lock().unwrap();
    assert_eq!(reports.len(), 4);
    assert!(matches!(&reports[0], LoadProgress::Preparing { bytes, .. } if *bytes > 10_000));
    assert!(matches!(
        &reports[3],
        LoadProgress::Prepared {
            origin: CodeOrigin::Cached,
            ..
        }
    ));
}

#[tokio::test]
async fn every_instance_has_its_own_workspace_beneath_the_state_root() {
    // tool-spec-v2 §2.5(1), §2.5(2)
    let state = tempfile::tempdir().unwrap();
    let dir = tempfile::tempdir().unwrap();
    write_bundle(
        dir.path(),
        &yaml(&[("w", "write_bytes", &["run"])]),
        &["write_bytes"],
    );
    let host = Host::builder()
        .sandbox(sandbox())
        .state_root(state.path())
        .build()
        .unwrap();
    let loaded = host.load(dir.path()).await.unwrap();
    let agent = loaded.only_agent().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for key in ["a/b", "a-b", "a.b", "..", "", "A-B"] {
        let call =
            toolhost_tests::test_host::tool_call("w__run", json!({"path": "mine", "bytes": 1}));
        let workspace = loaded.instance_workspace(key).unwrap();
        let step = toolhost_tests::test_host::open_step(&agent, key, &workspace).await;
        assert_eq!(
            step.execute_without_message(call).await.status(),
            ToolStatus::Ok
        );
        let path = loaded.instance_path(key).unwrap();
        assert!(
            path.starts_with(state.path()) && path.join("mine").exists(),
            "{key:?}"
        );
        assert!(seen.insert(path), "{key:?} shares a workspace");
        let inside = loaded.instance_path(key).unwrap();
        assert!(
            host.workdir(inside).is_err(),
            "the workspace of another instance is refused"
        );
    }
    assert!(host.workdir(state.path()).is_err());
    assert!(host.workdir(state.path().parent().unwrap()).is_err());
}

#[tokio::test]
async fn descriptions_of_a_tool_are_limited_and_reported() {
    let long = format!("Upper\u{202e}\u{e0041}{}", "x".repeat(1 << 17));
    let parameters =
        json!({"type": "object", "properties": {"text": {"description": "a\u{200f}b"}}});
    let exports = json!([
        {"name": "upper", "description": long},
        {"name": "count", "description": "Counts", "parameters": parameters},
        {"name": "fail", "description": "Fails"},
    ]);
    let manifest = json!({
        "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "text"},
        "spec": {"entry": "./text.wasm", "exports": exports},
    });
    let test_host = TestHost::load(&manifest.to_string(), &["text"], "", None).await;
    let catalog = test_host.agent.catalog();
    for display in [
        catalog.to_openai(),
        catalog.to_anthropic(),
        catalog.to_mcp(),
        catalog.to_json(),
    ] {
        let display = display.to_string();
        assert!(display.len() < 12_000, "{}", display.len());
        assert!(!display.contains(toolhost::text::needs_escape), "{display}");
        assert!(display.contains("Upper\\\\u{202e}") && display.contains("a\\\\u{200f}b"));
    }
    let reports: Vec<_> = test_host
        .loaded
        .diagnostics()
        .iter()
        .map(ToString::to_string)
        .collect();
    let of = |export: &str| {
        reports
            .iter()
            .any(|line| line.contains(&format!("the descriptions of '{export}'")))
    };
    assert!(of("upper") && of("count") && !of("fail"), "{reports:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_can_be_reloaded_while_its_calls_run() {
    // Two components with different answers to the same call.
    let ways = [
        ("flood_output", json!("xxxxxxxx")),
        ("ask_random", json!({"bytes": 8})),
    ];
    let (dir, work) = (tempfile::tempdir().unwrap(), toolhost_tests::Work::new());
    let (host, entry) = (host(), dir.path().join("t.wasm"));
    let put = |name: &str| {
        let new = dir.path().join("new");
        fs::write(&new, guest(name)).unwrap();
        fs::rename(new, &entry).unwrap();
    };
    let load = async || {
        let loaded = host.load(dir.path()).await.unwrap();
        let agent = loaded.only_agent().unwrap();
        toolhost_tests::test_host::open_step(&agent, "instance", &work.workdir).await
    };
    let call = async |step: &toolhost::Step| {
        let call = toolhost_tests::test_host::tool_call("t__run", json!({"bytes": 8}));
        step.execute_without_message(call).await
    };
    write_bundle(dir.path(), &yaml(&[("t", "t", &["run"])]), &[]);
    put(ways[0].0);
    let old = load().await;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let calls = async {
        let mut calls = 0;
        while !stop.load(std::sync::atomic::Ordering::SeqCst) {
            assert_eq!(call(&old).await.output(), Some(&ways[0].1));
            calls += 1;
            tokio::task::yield_now().await;
        }
        calls
    };
    let loads = async {
        for n in 1..=20 {
            let (name, expected) = &ways[n % 2];
            put(name);
            let new = load().await;
            assert_eq!(call(&new).await.output(), Some(expected), "{name}");
        }
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
    };
    let (calls, ()) = tokio::join!(calls, loads);
    assert!(calls > 0);
}

#[tokio::test]
async fn an_instance_cannot_reach_the_files_of_another() {
    let (state, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tools = yaml(&[("climb", "climb_out_of_workdir", &["run"])]);
    write_bundle(dir.path(), &tools, &["climb_out_of_workdir"]);
    let host = Host::builder().sandbox(sandbox()).state_root(state.path());
    let loaded = host.build().unwrap().load(dir.path()).await.unwrap();
    let agent = loaded.only_agent().unwrap();
    let [own, other] = ["own", "other"].map(|key| {
        let workspace = loaded.instance_workspace(key).unwrap();
        let path = loaded.instance_path(key).unwrap();
        fs::write(path.join("inside"), format!("{key}'s")).unwrap();
        (workspace, path)
    });
    let relative = |path: &std::path::Path| {
        let beneath = path.strip_prefix(state.path()).unwrap();
        let up = own.1.strip_prefix(state.path()).unwrap().components();
        format!("{}{}", "../".repeat(up.count()), beneath.display())
    };
    let theirs = relative(&other.1.join("inside"));
    assert_eq!(
        fs::read_to_string(own.1.join(&theirs)).unwrap(),
        "other's",
        "the path is correct"
    );
    symlink(&theirs, own.1.join("link")).unwrap();
    symlink(&other.1, own.1.join("folder")).unwrap();
    let before = crate::files::snapshot::tree(&other.1, None);
    let step = toolhost_tests::test_host::open_step(&agent, "own", &own.0).await;
    let absolute = other.1.join("inside").display().to_string();
    let paths = [&*theirs, "link", "folder/inside", &absolute];
    for op in [
        "read",
        "write",
        "append",
        "truncate",
        "link",
        "link_to",
        "set_times",
        "stat",
        "list",
    ] {
        let args = json!({"op": op, "paths": paths});
        let call = toolhost_tests::test_host::tool_call("climb__run", args);
        let result = step.execute_without_message(call).await;
        let results = result.output().unwrap()["results"].as_array().unwrap();
        // A hard link to a symlink is a link to the symlink itself.
        let refused = results.iter().filter(|result| result["ok"] == false);
        let of_the_link = usize::from(op == "link");
        assert!(
            refused.count() >= paths.len() - of_the_link,
            "{op}: {result:?}"
        );
        assert!(!format!("{result:?}").contains("other's"), "{op}");
    }
    assert_eq!(crate::files::snapshot::tree(&other.1, None), before);
    // It can reach its own files.
    let args = json!({"op": "read", "paths": ["inside"]});
    let result = step
        .execute_without_message(toolhost_tests::test_host::tool_call("climb__run", args))
        .await;
    assert_eq!(result.output().unwrap()["results"][0]["detail"], "own's");
}

#[tokio::test]
async fn a_load_of_some_tools_prepares_their_components_and_checks_what_it_can_of_the_others() {
    let manifest = yaml(&[
        ("echo", "echo", &["say"]),
        ("broken", "broken", &["run"]),
        ("text", "text", &["nope"]),
    ]);
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), &manifest, &["echo", "text"]);
    let broken = dir.path().join("broken.wasm");
    fs::write(&broken, b"no").unwrap();
    let own = toolhost_tests::own_sandbox(|_| {});
    let host = Host::builder().sandbox(own.clone()).build().unwrap();
    let tools = |names: &[&str]| -> Vec<ResourceName> {
        names
            .iter()
            .map(|name| ResourceName::parse(name).unwrap())
            .collect()
    };
    let prepared = || {
        let count = own.prepared_count();
        count.compiled + count.cached + count.failed
    };

    let loaded = host
        .load_tools(dir.path(), &tools(&["echo", "nobody"]))
        .await
        .unwrap();
    assert_eq!(prepared(), 1);
    let catalog = loaded.only_agent().unwrap().catalog();
    let names: Vec<_> = catalog
        .items()
        .iter()
        .map(|item| item.name.as_str())
        .collect();
    assert_eq!(names, ["echo__say"]);
    assert_eq!(loaded.components().len(), 1);
    let none = host.load_tools(dir.path(), &[]).await.unwrap();
    assert!(none.only_agent().unwrap().catalog().items().is_empty());
    assert_eq!(prepared(), 1);
    let LoadError::Invalid { diagnostics, .. } = loaded.reload().await.unwrap_err() else {
        panic!("a reload prepares all");
    };
    let expected = ["E_COMPONENT_INVALID", "E_COMPONENT_MISSING_HANDLER"];
    assert_eq!(codes(&diagnostics), expected);

    fs::remove_file(&broken).unwrap();
    let error = host
        .load_tools(dir.path(), &tools(&["echo"]))
        .await
        .unwrap_err();
    let LoadError::Invalid { diagnostics, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(codes(&diagnostics), ["E_CONFIG_ENTRY_NOT_FOUND"]);
}

#[tokio::test]
async fn a_load_of_some_tools_compares_them_with_the_lock() {
    let manifest = yaml(&[("echo", "echo", &["say"]), ("text", "text", &["upper"])]);
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), &manifest, &["echo", "text"]);
    let lock = host().load(dir.path()).await.unwrap().lock().to_text();
    fs::write(dir.path().join("toolhost.lock"), lock).unwrap();
    // Another component with the same handlers.
    let mut changed = guest("text");
    changed.extend([0, 5, 4, b'm', b'o', b'r', b'e']);
    fs::write(dir.path().join("text.wasm"), changed).unwrap();
    let load = async |name: &str| {
        let names = [ResourceName::parse(name).unwrap()];
        host().load_tools(dir.path(), &names).await
    };
    assert!(load("echo").await.is_ok());
    let error = load("text").await.unwrap_err();
    let LoadError::Invalid { diagnostics, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(codes(&diagnostics), ["E_CONFIG_LOCK"]);
}
