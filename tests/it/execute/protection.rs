//! No tool rewrites the tools.

use serde_json::json;
use toolhost::Host;
use toolhost_tests::house::{House, open_step, tool_call};
use toolhost_tests::sandbox;

#[tokio::test]
async fn a_bundle_beneath_the_workdir_cannot_be_rewritten() {
    let house = House::of(&[("climb", "climb_out_of_workdir", &["run"])], "").await;
    let workdir = house.host.workdir(house.bundle.path()).unwrap();
    let step = open_step(&house.agent, "instance", &workdir).await;
    let before = std::fs::read(house.bundle.path().join("goondan.yaml")).unwrap();
    let paths = json!(["goondan.yaml", "climb_out_of_workdir.wasm"]);
    for op in [
        "write",
        "append",
        "truncate",
        "unlink",
        "rename",
        "rename_from",
        "set_times",
    ] {
        let call = tool_call(
            "climb__run",
            json!({"op": op, "paths": paths, "other": "/elsewhere"}),
        );
        let result = step.execute_alone(call).await;
        for attempt in result.output().unwrap()["results"].as_array().unwrap() {
            assert_eq!(attempt["ok"], false, "{op}: {attempt}");
        }
        let after = std::fs::read(house.bundle.path().join("goondan.yaml")).unwrap();
        assert_eq!(after, before, "{op}");
        assert!(
            house
                .bundle
                .path()
                .join("climb_out_of_workdir.wasm")
                .exists(),
            "{op}"
        );
    }
    let call = tool_call("climb__run", json!({"op": "read", "paths": paths}));
    let result = step.execute_alone(call).await;
    assert_eq!(
        result.output().unwrap()["results"][0]["ok"],
        true,
        "it may be read"
    );
}

#[tokio::test]
async fn no_tool_rewrites_another_bundle_or_what_replaced_a_file_of_its_own() {
    let top = tempfile::tempdir().unwrap();
    let climb: &[&str] = &["run"];
    let manifest = toolhost_tests::house::yaml(&[("climb", "climb_out_of_workdir", climb)]);
    let host = Host::builder().sandbox(sandbox()).build().unwrap();
    let mut loaded = Vec::new();
    for bundle in ["a", "b"] {
        let dir = top.path().join(bundle);
        std::fs::create_dir(&dir).unwrap();
        toolhost_tests::house::write_bundle(&dir, &manifest, &["climb_out_of_workdir"]);
        loaded.push(host.load(&dir).await.unwrap());
    }
    // As an editor saves: another file under the same name.
    std::fs::write(top.path().join("a/new"), "edited").unwrap();
    std::fs::rename(top.path().join("a/new"), top.path().join("a/goondan.yaml")).unwrap();

    let workdir = host.workdir(top.path()).unwrap();
    let step = open_step(&loaded[1].only_agent().unwrap(), "key", &workdir).await;
    let paths = json!([
        "/a/goondan.yaml",
        "/a/climb_out_of_workdir.wasm",
        "/b/goondan.yaml"
    ]);
    for op in ["write", "append", "unlink"] {
        let call = tool_call("climb__run", json!({"op": op, "paths": paths}));
        let result = step.execute_alone(call).await;
        for attempt in result.output().unwrap()["results"].as_array().unwrap() {
            assert_eq!(attempt["ok"], false, "{op}: {attempt}");
        }
    }
    let kept = std::fs::read_to_string(top.path().join("a/goondan.yaml")).unwrap();
    assert_eq!(kept, "edited");
    assert!(top.path().join("a/climb_out_of_workdir.wasm").exists());
}
