//! Tools whose manifests leave the exports to the component.

use toolhost_manifest::bundle::described;

use super::*;

const MANIFEST: &str =
    "{apiVersion: goondan.ai/v1, kind: Tool, metadata: {name: echo}, spec: {entry: ./echo.wasm}}";

/// The guest `echo` that describes these exports.
fn component(exports: &serde_json::Value) -> Vec<u8> {
    described_by(guest("echo"), exports)
}

fn described_by(mut component: Vec<u8>, exports: &serde_json::Value) -> Vec<u8> {
    assert!(described::put_on(&mut component, exports.as_array().unwrap()).unwrap());
    component
}

#[tokio::test]
async fn the_exports_of_a_component_that_describes_itself_are_those_of_the_catalog() {
    let parameters =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let exports = json!([{"name": "say", "description": "Says it", "parameters": parameters, "outputSchema": {"type": "object"}}]);
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), MANIFEST, &[]);
    fs::write(dir.path().join("echo.wasm"), component(&exports)).unwrap();
    let bundle = host().load(dir.path()).await.unwrap();
    let catalog = bundle.only_agent().unwrap().catalog();
    let [item] = catalog.items() else {
        panic!("one tool");
    };
    assert_eq!(
        json!(item),
        json!({"name": "echo__say", "description": "Says it", "parameters": parameters,
            "outputSchema": {"type": "object"}, "source": {"type": "config", "name": "echo"}})
    );
    assert!(
        !bundle
            .diagnostics()
            .iter()
            .any(|it| it.severity == Severity::Warning)
    );
}

#[tokio::test]
async fn a_tool_that_nobody_describes_does_not_load() {
    // tool-spec-v2 §2.7(3), §4.3(2)
    let found = findings(MANIFEST, &[("echo.wasm", guest("echo"))]).await;
    assert_eq!(codes(&found), ["E_CONFIG_SCHEMA_INVALID"]);
    assert!(
        found[0]
            .message
            .contains("the component of ./echo.wasm does not describe them")
    );
    let nowhere = json!([{"name": "shout", "parameters": {"type": "object"}}]);
    let found = findings(MANIFEST, &[("echo.wasm", component(&nowhere))]).await;
    assert_eq!(codes(&found), ["E_COMPONENT_MISSING_HANDLER"]);
}

#[tokio::test]
async fn an_export_without_parameters_is_a_warning_of_the_load() {
    let warnings = async |exports: serde_json::Value| {
        let dir = tempfile::tempdir().unwrap();
        write_bundle(dir.path(), MANIFEST, &[]);
        fs::write(
            dir.path().join("echo.wasm"),
            described_by(guest("spin_forever"), &exports),
        )
        .unwrap();
        let bundle = host().load(dir.path()).await.unwrap();
        let warnings = bundle
            .diagnostics()
            .iter()
            .filter(|it| it.severity == Severity::Warning);
        warnings.map(|it| it.message.clone()).collect::<Vec<_>>()
    };
    let found = warnings(json!([{"name": "run"}])).await;
    assert!(
        matches!(&*found, [one] if one.starts_with("tool echo: 'run' has no parameters")),
        "{found:?}"
    );
    let none =
        json!([{"name": "run", "parameters": {"type": "object", "additionalProperties": false}}]);
    assert_eq!(warnings(none).await, Vec::<String>::new());
}
