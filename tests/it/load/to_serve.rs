//! A bundle that is served while its components are compiled.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use toolhost::sandbox::{CacheConfig, Compiler, PrepareStage};
use toolhost::{LiveBundle, LoadedBundle, Sandbox, SandboxConfig, ToolResult};
use toolhost_mcp::{McpConfig, McpServer, ServedAgent};
use toolhost_tests::eventually;
use toolhost_tests::test_host::{open_step, tool_call};

use super::*;
use crate::helper::HELPER;
use crate::mcp::initialized;

/// A host whose compilers wait until the gate is open.
struct Gated {
    top: tempfile::TempDir,
    host: Host,
    progress: Arc<Mutex<Vec<LoadProgress>>>,
}

impl Gated {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let gate = top.path().join("gate");
        let compiler = Compiler::new(HELPER, ["compiler", "gate", gate.to_str().unwrap()]);
        Self::with(top, compiler)
    }

    fn with(top: tempfile::TempDir, compiler: Compiler) -> Self {
        fs::create_dir(top.path().join("bundle")).unwrap();
        fs::create_dir(top.path().join("workdir")).unwrap();
        let mut config = SandboxConfig::default();
        let (cache, key) = (top.path().join("cache"), top.path().join("state/key"));
        config.cache = Some(CacheConfig::new(cache, key));
        config.compiler = Some(compiler);
        let progress: Arc<Mutex<Vec<LoadProgress>>> = Arc::default();
        let reported = Arc::clone(&progress);
        let host = Host::builder()
            .sandbox(Sandbox::new(config).unwrap())
            .on_progress(move |progress| reported.lock().unwrap().push(progress.clone()))
            .build()
            .unwrap();
        Self {
            top,
            host,
            progress,
        }
    }

    fn open(&self) {
        fs::write(self.top.path().join("gate"), "").unwrap();
    }

    fn write(&self, tools: &[(&str, &str, &[&str])]) {
        let guests: Vec<_> = tools.iter().map(|(_, guest, _)| *guest).collect();
        write_bundle(&self.top.path().join("bundle"), &described(tools), &guests);
    }

    async fn load(&self, tools: &[(&str, &str, &[&str])]) -> LoadedBundle {
        self.write(tools);
        let loaded = self.host.load_to_serve(self.top.path().join("bundle"));
        loaded.await.unwrap()
    }

    async fn call(&self, bundle: &LoadedBundle, tool: &str) -> ToolResult {
        let workdir = self.host.workdir(self.top.path().join("workdir")).unwrap();
        let step = open_step(&bundle.only_agent().unwrap(), "instance", &workdir).await;
        let call = tool_call(tool, json!({"text": "hi"}));
        step.execute_without_message(call).await
    }

    /// The Tools whose compilation began, in this order.
    fn begun(&self) -> Vec<String> {
        let progress = self.progress.lock().unwrap();
        let begun = progress.iter().filter_map(|progress| {
            let LoadProgress::Slow { tool, stage } = progress else {
                return None;
            };
            (*stage == PrepareStage::Compiling).then(|| tool.to_string())
        });
        begun.collect()
    }
}

/// Returns a manifest with a description and the parameters of each export.
fn described(tools: &[(&str, &str, &[&str])]) -> String {
    let export = r#""description":"does it","parameters":{"type":"object"},"name""#;
    yaml(tools)
        .replace(r#"{"name":"#, &format!("{{{export}:"))
        .replace(
            &format!(r#""metadata":{{{export}:"#),
            r#""metadata":{"name":"#,
        )
}

fn names(bundle: &LoadedBundle) -> Vec<String> {
    let catalog = bundle.only_agent().unwrap().catalog();
    let names = catalog.items().iter().map(|item| item.name.to_string());
    names.collect()
}

fn compiling(bundle: &LoadedBundle) -> Vec<String> {
    bundle.compiling().iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn tools_are_listed_before_they_are_compiled_and_a_call_waits_for_its_own() {
    let gated = Gated::new();
    let tools: [(&str, &str, &[&str]); 2] =
        [("text", "text", &["upper"]), ("echo", "echo", &["say"])];
    let bundle = gated.load(&tools).await;
    let agent = bundle.only_agent().unwrap();
    assert_eq!(names(&bundle), ["text__upper", "echo__say"]);
    assert_eq!(compiling(&bundle), ["echo", "text"]);
    assert!(agent.tool_is_compiling("text__upper"));
    assert_eq!(bundle.components().len(), 2);
    assert!(!agent.tool_can_be_pending("text__upper"));

    let mut call = pin!(gated.call(&bundle, "text__upper"));
    assert!(call.as_mut().now_or_never().is_none(), "it is not compiled");
    gated.open();
    let result = call.await;
    assert_eq!(result.output(), Some(&json!({"text": "HI"})));
    assert!(!agent.tool_is_compiling("text__upper"));
    bundle.compiled().await;
    assert_eq!(compiling(&bundle), Vec::<String>::new());

    // Compiled code is mapped before the load ends, also in a reload.
    let again = gated.host.load_to_serve(gated.top.path().join("bundle"));
    assert_eq!(compiling(&again.await.unwrap()), Vec::<String>::new());
    assert_eq!(gated.begun().len(), 2);
}

#[tokio::test]
async fn what_a_call_waits_for_is_compiled_before_others() {
    let gated = Gated::new();
    let slots = gated.host.sandbox().compile_slots();
    assert!(slots < 6, "more components than slots are needed");
    let bundle = gated
        .load(&[
            ("fs_probe", "fs_probe", &["run"]),
            ("wait", "wait", &["run"]),
            ("trap", "trap", &["run"]),
            ("echo", "echo", &["say"]),
            ("text", "text", &["upper"]),
            ("two_handlers", "two_handlers", &["a"]),
            ("sleep_forever", "sleep_forever", &["run"]),
            ("eat_memory", "eat_memory", &["run"]),
        ])
        .await;
    eventually("the slots are used", || gated.begun().len() == slots).await;
    let mut call = pin!(gated.call(&bundle, "two_handlers__a"));
    assert!(call.as_mut().now_or_never().is_none());
    gated.open();
    let _result = call.await;
    let begun = gated.begun();
    assert_eq!(begun[0], "fs_probe", "the first of the manifest");
    assert_eq!(begun[slots], "two_handlers", "{begun:?}");
}

#[tokio::test]
async fn what_only_the_compiler_finds_out_is_the_error_of_each_call() {
    for (tool, guest, export, code_of_error, says) in [
        (
            "a",
            "text",
            "nope",
            "E_COMPONENT_MISSING_HANDLER",
            "handler 'nope' is not served by",
        ),
        (
            "a",
            "describe_trap",
            "run",
            "E_COMPONENT_DESCRIBE_FAILED",
            "describe",
        ),
    ] {
        let gated = Gated::new();
        gated.open();
        let bundle = gated
            .load(&[(tool, guest, &[export]), ("echo", "echo", &["say"])])
            .await;
        let called = format!("{tool}__{export}");
        for _ in 0..2 {
            let result = gated.call(&bundle, &called).await;
            assert_eq!(code(&result), code_of_error);
            let error = result.tool_error().unwrap();
            assert!(error.message.contains(says), "{error:?}");
            assert!(error.suggestion.is_some(), "{error:?}");
        }
        assert_eq!(
            gated.call(&bundle, "echo__say").await.status(),
            ToolStatus::Ok
        );
        assert_eq!(compiling(&bundle), Vec::<String>::new());
        let failed = |progress: &LoadProgress| matches!(progress, LoadProgress::Failed { finding, .. } if finding.message.contains(says));
        let failures = gated
            .progress
            .lock()
            .unwrap()
            .iter()
            .filter(|p| failed(p))
            .count();
        assert_eq!(failures, 1);
        // A load that compiles refuses the bundle, as a reload does.
        assert!(bundle.reload().await.is_err());
    }
}

#[tokio::test]
async fn what_needs_no_compiled_code_is_checked_by_the_load() {
    let gated = Gated::new();
    gated.write(&[("text", "text", &["upper"])]);
    let bundle = gated.top.path().join("bundle");
    for (bytes, expected) in [
        (b"\0asm\x01\0\0\0".to_vec(), "E_COMPONENT_INVALID"),
        (b"\0asm\x0d\0\x01\0".to_vec(), "E_COMPONENT_WRONG_WORLD"),
    ] {
        fs::write(bundle.join("text.wasm"), bytes).unwrap();
        match gated.host.load_to_serve(&bundle).await {
            Err(LoadError::Invalid { diagnostics, .. }) => {
                assert_eq!(codes(&diagnostics), [expected]);
            }
            other => panic!("the bundle loaded: {other:?}"),
        }
    }
    // Without parameters in the manifest, they are those of `describe`.
    fs::write(
        bundle.join("goondan.yaml"),
        yaml(&[("text", "text", &["upper"])]),
    )
    .unwrap();
    fs::write(bundle.join("text.wasm"), guest("text")).unwrap();
    let load = async {
        let loaded = gated.host.load_to_serve(&bundle).await.unwrap();
        assert!(gated.top.path().join("gate").exists(), "it was compiled");
        loaded
    };
    let open = async {
        eventually("it is compiled", || !gated.begun().is_empty()).await;
        gated.open();
    };
    let (loaded, ()) = tokio::join!(load, open);
    assert_eq!(compiling(&loaded), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_is_compiled_for_a_bundle_that_is_gone() {
    let gated = Gated::new();
    let tools: [(&str, &str, &[&str]); 1] = [("text", "text", &["upper"])];
    let bundle = gated.load(&tools).await;
    eventually("the compiler runs", || gated.begun().len() == 1).await;
    drop(bundle);
    gated.open();
    // The lock of the component is free again, and its code is not in the cache.
    let bundle = gated
        .host
        .load(gated.top.path().join("bundle"))
        .await
        .unwrap();
    assert_eq!(compiling(&bundle), Vec::<String>::new());
    assert_eq!(gated.begun().len(), 2, "the second load compiled it");
}

#[tokio::test]
async fn an_mcp_client_lists_tools_at_once_and_is_told_what_its_call_waits_for() {
    let gated = Gated::new();
    let bundle = gated.load(&[("text", "text", &["upper"])]).await;
    let workdir = gated.host.workdir(gated.top.path().join("workdir"));
    let served = ServedAgent::new(LiveBundle::new(bundle));
    let served = served.only_workdir("instance", workdir.unwrap());
    let mut config = McpConfig::default();
    config.progress_interval = Duration::from_millis(10);
    let mut peer = initialized(&McpServer::new(served, config)).await;
    let listed = peer.request("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "text__upper");
    let call = json!({"name": "text__upper", "arguments": {"text": "hi"}, "_meta": {"progressToken": "p"}});
    let call = peer.send("tools/call", call).await;
    let progress = peer.notification("notifications/progress").await;
    let message = progress["params"]["message"].as_str().unwrap();
    assert!(message.starts_with("compiling the tool for "), "{message}");
    gated.open();
    let answer = peer.response(call).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"text": "HI"}));
}
