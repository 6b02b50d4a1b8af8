//! Tools cannot change the files of loaded bundles.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use toolhost::{Host, ResourceName, Step, WorkdirError};
use toolhost_manifest::bundle::built::{Source, Stamp};
use toolhost_tests::test_host::{TestHost, open_step, tool_call, write_bundle, yaml};
use toolhost_tests::{guest, sandbox};

#[tokio::test]
async fn a_bundle_beneath_the_workdir_cannot_be_rewritten() {
    let test_host = TestHost::with_tools(&[("climb", "climb_out_of_workdir", &["run"])], "").await;
    let workdir = test_host.host.workdir(test_host.bundle.path()).unwrap();
    let step = open_step(&test_host.agent, "instance", &workdir).await;
    let before = std::fs::read(test_host.bundle.path().join("goondan.yaml")).unwrap();
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
        let result = step.execute_without_message(call).await;
        for attempt in result.output().unwrap()["results"].as_array().unwrap() {
            assert_eq!(attempt["ok"], false, "{op}: {attempt}");
        }
        let after = std::fs::read(test_host.bundle.path().join("goondan.yaml")).unwrap();
        assert_eq!(after, before, "{op}");
        assert!(
            test_host
                .bundle
                .path()
                .join("climb_out_of_workdir.wasm")
                .exists(),
            "{op}"
        );
    }
    let call = tool_call("climb__run", json!({"op": "read", "paths": paths}));
    let result = step.execute_without_message(call).await;
    assert_eq!(
        result.output().unwrap()["results"][0]["ok"],
        true,
        "the bundle can be read"
    );
}

#[tokio::test]
async fn the_files_of_a_dropped_bundle_can_be_changed() {
    let test_host = TestHost::with_tools(&[("climb", "climb_out_of_workdir", &["run"])], "").await;
    let other = tempfile::tempdir().unwrap();
    let manifest = toolhost_tests::test_host::yaml(&[("climb", "climb_out_of_workdir", &["run"])]);
    toolhost_tests::test_host::write_bundle(other.path(), &manifest, &["climb_out_of_workdir"]);
    let loaded = test_host.host.load(other.path()).await.unwrap();
    let workdir = test_host.host.workdir(other.path()).unwrap();
    let write = async || {
        let step = open_step(&test_host.agent, "instance", &workdir).await;
        let call = json!({"op": "write", "paths": ["goondan.yaml"]});
        let result = step
            .execute_without_message(tool_call("climb__run", call))
            .await;
        result.output().unwrap()["results"][0]["ok"].clone()
    };
    assert_eq!(write().await, false);
    let path = other.path().join("goondan.yaml");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), manifest);
    drop(loaded);
    assert_eq!(write().await, true);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "climbed");
}

#[test]
fn a_workdir_that_contains_protected_directories_is_refused() {
    let top = tempfile::tempdir().unwrap();
    for dir in ["secrets/deep", "private/deep", "neighbour"] {
        std::fs::create_dir_all(top.path().join(dir)).unwrap();
    }
    std::fs::write(top.path().join("secrets/policy.yaml"), "").unwrap();
    let host = Host::builder()
        .sandbox(sandbox())
        .keep_out_of("the policy", top.path().join("secrets/policy.yaml"))
        .keep_private("the cache", top.path().join("private"))
        .build()
        .unwrap();
    let open = |dir: &str| host.workdir(top.path().join(dir)).map(drop);
    for dir in ["", "secrets", "private", "private/deep"] {
        let refused = open(dir);
        let contains = matches!(refused, Err(WorkdirError::Contains { .. }));
        let within = matches!(refused, Err(WorkdirError::Within { .. }));
        assert!(contains || within, "{dir}: {refused:?}");
    }
    for dir in ["neighbour", "secrets/deep"] {
        assert!(open(dir).is_ok(), "{dir}");
    }
}

#[tokio::test]
async fn a_tool_cannot_change_another_bundle_or_a_replaced_bundle_file() {
    let top = tempfile::tempdir().unwrap();
    let climb: &[&str] = &["run"];
    let manifest = toolhost_tests::test_host::yaml(&[("climb", "climb_out_of_workdir", climb)]);
    let host = Host::builder().sandbox(sandbox()).build().unwrap();
    let mut loaded = Vec::new();
    for bundle in ["a", "b"] {
        let dir = top.path().join(bundle);
        std::fs::create_dir(&dir).unwrap();
        toolhost_tests::test_host::write_bundle(&dir, &manifest, &["climb_out_of_workdir"]);
        loaded.push(host.load(&dir).await.unwrap());
    }
    // As an editor does: a new file with the same name.
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
        let result = step.execute_without_message(call).await;
        for attempt in result.output().unwrap()["results"].as_array().unwrap() {
            assert_eq!(attempt["ok"], false, "{op}: {attempt}");
        }
    }
    let kept = std::fs::read_to_string(top.path().join("a/goondan.yaml")).unwrap();
    assert_eq!(kept, "edited");
    assert!(top.path().join("a/climb_out_of_workdir.wasm").exists());
}

/// Asserts that each operation fails on each path.
async fn refused(step: &Step, ops: &[&str], paths: &[&str], other: &str) {
    for op in ops {
        let args = json!({"op": op, "paths": paths, "other": other});
        let result = step
            .execute_without_message(tool_call("climb__run", args))
            .await;
        for attempt in result.output().unwrap()["results"].as_array().unwrap() {
            assert_eq!(attempt["ok"], false, "{op}: {attempt}");
        }
    }
}

/// Loads a bundle beneath a folder, with its component in `dist`.
async fn built(top: &Path, bundle: &Path) -> Step {
    let manifest = yaml(&[("climb", "climb_out_of_workdir", &["run"])]);
    let manifest = manifest.replace("./climb", "./dist/climb");
    std::fs::create_dir_all(bundle.join("dist")).unwrap();
    write_bundle(bundle, &manifest, &[]);
    let host = Host::builder().sandbox(sandbox()).build().unwrap();
    write_bundle(&bundle.join("dist"), "", &["climb_out_of_workdir"]);
    let loaded = host.load(bundle).await.unwrap();
    let workdir = host.workdir(top).unwrap();
    open_step(&loaded.only_agent().unwrap(), "key", &workdir).await
}

#[tokio::test]
async fn a_file_that_replaces_a_tool_during_a_step_is_protected() {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    let step = built(top.path(), &at("a")).await;
    let wasm = "/a/dist/climb_out_of_workdir.wasm";
    std::fs::write(at("mine"), "mine").unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    let changes = [
        "write",
        "append",
        "truncate",
        "unlink",
        "rename",
        "rename_from",
        "link",
        "set_times",
    ];

    // As an editor and a build do: the manifest is replaced, the component is removed.
    std::fs::write(at("new"), "edited").unwrap();
    std::fs::rename(at("new"), at("a/goondan.yaml")).unwrap();
    std::fs::remove_file(at("a/dist/climb_out_of_workdir.wasm")).unwrap();
    refused(&step, &changes, &["/a/goondan.yaml", wasm], "/mine").await;
    let makes = [
        "write",
        "append",
        "rename",
        "link_to",
        "mkdir",
        "symlink_at",
    ];
    refused(&step, &makes, &[wasm], "/mine").await;

    // Through a link that the guest created.
    let target = "a/dist/climb_out_of_workdir.wasm";
    let link = json!({"op": "symlink", "paths": [target], "other": "/way"});
    step.execute_without_message(tool_call("climb__run", link))
        .await;
    refused(&step, &["write", "append"], &["/way"], "").await;
    assert!(at("way").is_symlink() && !at("a/dist/climb_out_of_workdir.wasm").exists());

    // The whole folder is removed and created again.
    std::fs::remove_dir_all(at("a/dist")).unwrap();
    refused(
        &step,
        &["mkdir", "symlink_at", "rename"],
        &["/a/dist"],
        "/folder",
    )
    .await;
    assert!(!at("a/dist").exists());
    std::fs::create_dir(at("a/dist")).unwrap();
    refused(&step, &makes, &[wasm], "/mine").await;
    std::fs::write(at("a/dist/climb_out_of_workdir.wasm"), "built").unwrap();
    refused(&step, &changes, &[wasm], "/mine").await;
    refused(&step, &["write", "append", "truncate"], &["/way"], "").await;
    refused(&step, &["rename_from"], &["/a/dist", "/a"], "/elsewhere").await;

    let read = |path: &str| std::fs::read_to_string(at(path)).unwrap();
    assert_eq!(read("a/goondan.yaml"), "edited");
    assert_eq!(read("a/dist/climb_out_of_workdir.wasm"), "built");
    assert_eq!(read("mine"), "mine");
    // The same names in other folders are not protected.
    let paths = json!([
        "/folder/goondan.yaml",
        "/folder/climb_out_of_workdir.wasm",
        "/goondan.yaml"
    ]);
    let call = tool_call("climb__run", json!({"op": "write", "paths": paths}));
    let result = step.execute_without_message(call).await;
    for attempt in result.output().unwrap()["results"].as_array().unwrap() {
        assert_eq!(attempt["ok"], true, "{attempt}");
    }
}

/// Returns the names of all entries beneath a folder, sorted. Links are not followed.
fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            names.extend(self::names(&entry.path()));
        }
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    names
}

#[tokio::test]
async fn neither_a_folder_nor_a_link_brings_case_files() {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    let step = built(top.path(), &at("a")).await;
    let make = |folder: &str| {
        std::fs::create_dir_all(at(folder)).unwrap();
        std::fs::write(at(folder).join("case.yaml"), "as it is").unwrap();
    };
    make("mine");
    make("a/other");
    symlink("mine", at("way")).unwrap();

    // There is no folder of cases yet.
    let cases = &["/a/tests", "/a/Tests"];
    for moved in ["/mine", "/way"] {
        refused(&step, &["rename"], cases, moved).await;
    }
    refused(&step, &["symlink_at"], cases, "other").await;
    let expected = [
        "case.yaml",
        "climb_out_of_workdir.wasm",
        "dist",
        "goondan.yaml",
        "goondan.yaml",
        "other",
    ];
    assert_eq!(names(&at("a")), expected);

    make("a/tests/more");
    let new = &[
        "/a/tests/new",
        "/a/tests/new.yaml",
        "/a/tests/more/new.yaml",
    ];
    for moved in ["/mine", "/way"] {
        refused(&step, &["rename"], &new[..2], moved).await;
    }
    refused(&step, &["symlink_at"], new, "../other").await;
    refused(&step, &["rename", "link_to"], &new[1..], "/mine/case.yaml").await;
    // These appeared while the step is open.
    let own = &["/a/tests", "/a/tests/more", "/a/tests/more/case.yaml"];
    refused(&step, &["rename_from"], own, "/a/other/moved").await;
    let changes = ["write", "append", "truncate", "unlink", "link", "set_times"];
    refused(&step, &changes, &own[2..], "/a/other/moved").await;
    assert_eq!(names(&at("a/tests")), ["case.yaml", "more"]);
    let case = std::fs::read_to_string(at("a/tests/more/case.yaml")).unwrap();
    assert_eq!(case, "as it is");
    assert_eq!(names(&at("mine")), ["case.yaml"]);

    // What the same operations do beside the case files.
    for (op, path, other) in [
        ("symlink_at", "/a/linked", "other"),
        ("symlink_at", "/a/tests/more/linked", "../other"),
        ("rename", "/a/moved", "/way"),
        ("rename", "/a/tests/more/moved", "/mine"),
    ] {
        let call = json!({"op": op, "paths": [path], "other": other});
        let call = tool_call("climb__run", call);
        let result = step.execute_without_message(call).await;
        let attempt = &result.output().unwrap()["results"][0];
        assert_eq!(attempt["ok"], true, "{op}: {attempt}");
    }
}

#[tokio::test]
async fn a_link_that_leads_to_the_bundle_cannot_be_changed() {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    std::fs::create_dir_all(at("work/mine")).unwrap();
    symlink("../opt", at("work/tools")).unwrap();
    std::fs::create_dir(at("opt")).unwrap();
    let step = built(&at("work"), &at("work/tools")).await;
    let changes = ["unlink", "rename", "rename_from", "link", "set_times"];
    refused(&step, &changes, &["/tools"], "/mine").await;
    assert_eq!(
        std::fs::read_link(at("work/tools")).unwrap(),
        Path::new("../opt")
    );
    // While the link does not exist, the guest cannot create it either.
    std::fs::remove_file(at("work/tools")).unwrap();
    refused(
        &step,
        &["mkdir", "symlink_at", "rename"],
        &["/tools"],
        "/mine",
    )
    .await;
    assert!(!at("work/tools").exists() && at("work/mine").exists());
}

/// Writes a bundle whose entry is source, with its built component. Returns its manifest.
fn source_bundle(top: &Path, tool: &str) -> String {
    let at = |path: &str| top.join(path);
    for folder in ["a/tool/src", "a/.toolhost", "a/node_modules", "a/data"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    let files = ["tool/index.ts", "tool/src/more.ts", "tool/package.json"];
    for file in files {
        std::fs::write(at("a").join(file), "source").unwrap();
    }
    let manifest = yaml(&[(tool, "climb_out_of_workdir", &["run"])]);
    let manifest = manifest.replace("./climb_out_of_workdir.wasm", "./tool/index.ts");
    write_bundle(&at("a"), &manifest, &[]);
    let stamp = Stamp {
        entry: "./tool/index.ts".to_owned(),
        kit: "typescript".to_owned(),
        sources: files[..2]
            .iter()
            .map(|file| Source::new(*file, b"source"))
            .collect(),
        absent: None,
        handlers: None,
    };
    let mut component = guest("climb_out_of_workdir");
    stamp.put_on(&mut component).unwrap();
    std::fs::write(at(&format!("a/.toolhost/{tool}.wasm")), component).unwrap();
    manifest
}

/// Opens a step of a bundle whose entry is source. The workdir is the folder above.
async fn of_source(top: &Path) -> Step {
    source_bundle(top, "climb");
    let host = Host::builder().sandbox(sandbox()).build().unwrap();
    let loaded = host.load(top.join("a")).await.unwrap();
    let workdir = host.workdir(top).unwrap();
    open_step(&loaded.only_agent().unwrap(), "key", &workdir).await
}

#[tokio::test]
async fn the_files_of_tools_that_a_load_leaves_out_are_protected() {
    let top = tempfile::tempdir().unwrap();
    let of_source = source_bundle(top.path(), "other");
    let manifest = yaml(&[("climb", "climb_out_of_workdir", &["run"])]);
    let bundle = top.path().join("a");
    let both = format!("{manifest}\n---\n{of_source}");
    write_bundle(&bundle, &both, &["climb_out_of_workdir"]);
    let host = Host::builder().sandbox(sandbox()).build().unwrap();
    let climb = [ResourceName::parse("climb").unwrap()];
    let loaded = host.load_tools(&bundle, &climb).await.unwrap();
    assert_eq!(loaded.components().len(), 1);
    let workdir = host.workdir(top.path()).unwrap();
    let step = open_step(&loaded.only_agent().unwrap(), "key", &workdir).await;
    let kept = [
        "/a/.toolhost/other.wasm",
        "/a/tool/index.ts",
        "/a/tool/src/more.ts",
    ];
    let read =
        || kept.map(|path| std::fs::read(top.path().join(path.trim_start_matches('/'))).unwrap());
    let before = read();
    refused(&step, &["write", "unlink", "rename"], &kept, "/mine").await;
    assert_eq!(read(), before);
}

#[tokio::test]
async fn the_sources_of_a_tool_and_the_inputs_of_its_build_are_protected() {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    let step = of_source(top.path()).await;
    std::fs::write(at("mine"), "mine").unwrap();
    let component = std::fs::read(at("a/.toolhost/climb.wasm")).unwrap();

    let kept = [
        "/a/.toolhost/climb.wasm",
        "/a/tool/index.ts",
        "/a/tool/src/more.ts",
        "/a/tool/package.json",
    ];
    let changes = [
        "write",
        "append",
        "truncate",
        "unlink",
        "rename",
        "rename_from",
        "link",
    ];
    refused(&step, &changes, &kept, "/mine").await;

    // A build would include these files in the tool, or run them.
    let planted = [
        "/a/tool/build.rs",
        "/a/tool/index.tsx",
        "/a/tool/src/evil.ts",
        "/a/tool/.cargo",
        "/a/tool/node_modules",
        "/a/.toolhost/build.lock",
        "/a/tsconfig.json",
        "/a/.pnp.cjs",
        "/.pnp.data.json",
        "/a/Cargo.toml",
        "/a/.cargo",
        "/Cargo.toml",
        "/rust-toolchain.toml",
        "/.cargo",
    ];
    let makes = [
        "write",
        "append",
        "rename",
        "link_to",
        "mkdir",
        "symlink_at",
    ];
    refused(&step, &makes, &planted, "/mine").await;
    for path in planted {
        assert!(
            std::fs::symlink_metadata(at(path.trim_start_matches('/'))).is_err(),
            "{path}"
        );
    }
    refused(
        &step,
        &["rename_from"],
        &["/a/tool", "/a/tool/src", "/a/.toolhost", "/a/node_modules"],
        "/x",
    )
    .await;
    for path in kept {
        assert!(at(path.trim_start_matches('/')).exists(), "{path}");
    }
    assert_eq!(
        std::fs::read(at("a/.toolhost/climb.wasm")).unwrap(),
        component
    );
    assert_eq!(
        std::fs::read_to_string(at("a/tool/index.ts")).unwrap(),
        "source"
    );

    // In all other places the tool can write.
    let paths = json!([
        "/a/data/index.ts",
        "/a/notes.txt",
        "/index.ts",
        "/a/data/build.rs"
    ]);
    let call = tool_call("climb__run", json!({"op": "write", "paths": paths}));
    let result = step.execute_without_message(call).await;
    for attempt in result.output().unwrap()["results"].as_array().unwrap() {
        assert_eq!(attempt["ok"], true, "{attempt}");
    }
}
