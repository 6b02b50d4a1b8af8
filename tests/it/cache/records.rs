//! What an artifact records of its component, and which component gets its code.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolhost_sandbox::{
    CodeOrigin, CompileLimits, Compiler, Outcome, PrepareError, PreparedTool, Sandbox,
    SandboxConfig,
};
use toolhost_tests::{guest, invocation};

use super::{artifact_path, config, prepare, rewrite, sandbox};

/// Prepares a component in a new sandbox.
async fn prepared(top: &Path, component: Vec<u8>) -> (PreparedTool, CodeOrigin) {
    sandbox(top).prepare(component).await.unwrap()
}

/// Adds a custom section, which engines ignore.
fn with_custom_section(mut component: Vec<u8>, content: u8) -> Vec<u8> {
    component.extend([0, 3, 1, b'x', content]);
    component
}

fn limited(top: &Path, functions: u64) -> Sandbox {
    Sandbox::new({
        let mut all = SandboxConfig::default();
        all.cache = Some(config(top));
        all.compile = CompileLimits {
            functions,
            ..CompileLimits::default()
        };
        all
    })
    .unwrap()
}

#[tokio::test]
async fn a_component_from_the_cache_has_the_facts_of_the_compiled_one() {
    let top = tempfile::tempdir().unwrap();
    let (compiled, origin) = prepared(top.path(), guest("ask_agents")).await;
    assert_eq!(origin, CodeOrigin::Compiled);
    let (cached, origin) = prepared(top.path(), guest("ask_agents")).await;
    assert_eq!(origin, CodeOrigin::Cached);
    let facts = sandbox(top.path())
        .read_facts(&guest("ask_agents"))
        .unwrap();
    assert!(!facts.imports.is_empty() && !facts.exports.is_empty());
    for tool in [compiled, cached] {
        assert_eq!(tool.facts(), &facts);
    }
}

#[tokio::test]
async fn a_changed_bit_in_any_part_of_a_record_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let (compiled, _) = prepared(top.path(), guest("echo")).await;
    for part in [
        "\"sha256\":\"",
        "\"imports\":[",
        "\"exports\":[",
        "\"rules\":{",
        "\"limits\":{",
        "\"handlers\":[",
    ] {
        rewrite(&artifact_path(top.path()), |bytes| {
            let end = bytes.len();
            let mut places = bytes.windows(part.len());
            let at = places.rposition(|found| found == part.as_bytes());
            let at = at.unwrap_or_else(|| panic!("no {part}")) + part.len();
            assert!(at < end);
            bytes[at] ^= 1;
        });
        let (tool, origin) = prepared(top.path(), guest("echo")).await;
        assert_eq!(origin, CodeOrigin::Compiled, "{part}");
        assert_eq!(tool.facts(), compiled.facts(), "{part}");
    }
}

#[tokio::test]
async fn a_component_with_other_bytes_never_gets_the_record_of_another() {
    let top = tempfile::tempdir().unwrap();
    let echo = guest("echo");
    let (first, _) = prepared(top.path(), echo.clone()).await;
    // The same functions, but not the same bytes.
    for content in [b'1', b'2'] {
        let other = with_custom_section(echo.clone(), content);
        let (tool, origin) = prepared(top.path(), other.clone()).await;
        assert_eq!(origin, CodeOrigin::Compiled);
        assert_eq!(tool.facts().bytes, other.len() as u64);
        assert_ne!(tool.facts().sha256, first.facts().sha256);
        let (tool, origin) = prepared(top.path(), other).await;
        assert_eq!(origin, CodeOrigin::Cached);
        assert_ne!(tool.facts().sha256, first.facts().sha256);
    }
    let (tool, origin) = prepared(top.path(), echo).await;
    assert_eq!(origin, CodeOrigin::Cached);
    assert_eq!(tool.facts(), first.facts());
}

/// Writes over a text in the initial data of a component.
fn with_data(component: &[u8], text: &str, with: &str) -> Vec<u8> {
    assert_eq!(text.len(), with.len());
    let found = |window: &[u8]| window == text.as_bytes();
    let at = component.windows(text.len()).position(found).unwrap();
    let mut changed = component.to_owned();
    changed[at..at + with.len()].copy_from_slice(with.as_bytes());
    changed
}

/// A sandbox that cannot compile.
fn without_compiler(top: &Path) -> Sandbox {
    Sandbox::new({
        let mut all = SandboxConfig::default();
        all.cache = Some(config(top));
        all.compiler = Some(Compiler::new("/bin/false", [""; 0]));
        all
    })
    .unwrap()
}

#[tokio::test]
async fn a_component_that_differs_only_in_data_gets_the_code_and_not_the_data_of_another() {
    let top = tempfile::tempdir().unwrap();
    prepare(top.path(), "echo").await;
    let changed = with_data(&guest("echo"), "Returns its input", "Gives back inputs");
    let changed = with_custom_section(changed, b'1');
    let prepared = without_compiler(top.path()).prepare(changed.clone()).await;
    let (tool, origin) = prepared.unwrap();
    assert_eq!(origin, CodeOrigin::Compiled);
    let described = |tool: &PreparedTool| {
        let mut handlers = tool.handlers().iter();
        handlers.any(|it| it.description.as_deref() == Some("Gives back inputs"))
    };
    assert!(described(&tool));
    let report = tool.call(invocation("say", &json!({"a": 1}), None)).await;
    assert_eq!(report.outcome.unwrap(), Outcome::Output(json!({"a": 1})));
    let (tool, origin) = without_compiler(top.path()).prepare(changed).await.unwrap();
    assert_eq!(origin, CodeOrigin::Cached);
    assert!(described(&tool));
}

#[tokio::test]
async fn code_is_not_taken_from_an_artifact_that_was_changed_or_is_of_other_functions() {
    let top = tempfile::tempdir().unwrap();
    prepare(top.path(), "echo").await;
    let refused = async |component| {
        without_compiler(top.path())
            .prepare(component)
            .await
            .is_err()
    };
    assert!(refused(guest("two_handlers")).await);
    let other = with_data(&guest("echo"), "Returns its input", "Gives back inputs");
    rewrite(&artifact_path(top.path()), |bytes| bytes[5000] ^= 1);
    assert!(refused(other).await);
}

#[tokio::test]
async fn an_artifact_with_the_name_of_another_component_is_refused() {
    let top = tempfile::tempdir().unwrap();
    prepare(top.path(), "echo").await;
    let of_echo = artifact_path(top.path());
    let (tool, _) = prepared(top.path(), guest("two_handlers")).await;
    let dir = fs::read_dir(top.path().join("cache")).unwrap();
    let paths = dir.map(|entry| entry.unwrap().path());
    let others: Vec<PathBuf> = paths.filter(|path| *path != of_echo).collect();
    let [of_other] = others.as_slice() else {
        panic!("{others:?}");
    };
    let (code_of_echo, code_of_other) = (fs::read(&of_echo).unwrap(), fs::read(of_other).unwrap());
    rewrite(&of_echo, |bytes| *bytes = code_of_other);
    rewrite(of_other, |bytes| *bytes = code_of_echo);

    let (echo, origin) = prepared(top.path(), guest("echo")).await;
    assert_eq!(origin, CodeOrigin::Compiled);
    let report = echo.call(invocation("say", &json!({"a": 1}), None)).await;
    assert_eq!(report.outcome.unwrap(), Outcome::Output(json!({"a": 1})));
    let (other, origin) = prepared(top.path(), guest("two_handlers")).await;
    assert_eq!(origin, CodeOrigin::Compiled);
    assert_eq!(other.handlers(), tool.handlers());
}

#[tokio::test]
async fn a_component_from_the_cache_must_hold_to_the_limits_of_the_sandbox() {
    let top = tempfile::tempdir().unwrap();
    prepare(top.path(), "echo").await;
    let refused = limited(top.path(), 1).prepare(guest("echo")).await;
    assert!(
        matches!(
            refused,
            Err(PrepareError::TooLarge {
                what: "functions",
                limit: 1,
                ..
            })
        ),
        "{refused:?}"
    );
    // Other limits, to which it holds.
    let (tool, origin) = limited(top.path(), 499_999)
        .prepare(guest("echo"))
        .await
        .unwrap();
    assert_eq!(origin, CodeOrigin::Cached);
    let report = tool.call(invocation("say", &json!({"a": 1}), None)).await;
    assert_eq!(report.outcome.unwrap(), Outcome::Output(json!({"a": 1})));
}
