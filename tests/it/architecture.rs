//! The direction of dependencies, the crates that may name a dependency, and its features, read from
//! cargo.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use toolhost_tests::root;

/// The crates of this workspace on which each crate may depend, in the order of ARCHITECTURE.md. Those that
/// are published name `toolhost-features` for their tests alone.
const ORDER: [(&str, &[&str]); 22] = [
    ("toolhost-features", &[]),
    ("toolhost-contract", &[]),
    ("toolhost-runtime", &[]),
    ("toolhost-files", &["toolhost-contract", "toolhost-runtime"]),
    (
        "toolhost-egress",
        &["toolhost-contract", "toolhost-runtime"],
    ),
    (
        "toolhost-sandbox",
        &[
            "toolhost-contract",
            "toolhost-egress",
            "toolhost-files",
            "toolhost-runtime",
        ],
    ),
    ("toolhost-store", &["toolhost-files"]),
    ("toolhost-schema", &["toolhost-contract"]),
    (
        "toolhost-manifest",
        &["toolhost-contract", "toolhost-files", "toolhost-schema"],
    ),
    (
        "toolhost-agents",
        &["toolhost-contract", "toolhost-runtime", "toolhost-store"],
    ),
    (
        "toolhost-oauth",
        &[
            "toolhost-contract",
            "toolhost-egress",
            "toolhost-files",
            "toolhost-store",
        ],
    ),
    (
        "toolhost-package",
        &[
            "toolhost-contract",
            "toolhost-egress",
            "toolhost-files",
            "toolhost-manifest",
        ],
    ),
    (
        "toolhost",
        &[
            "toolhost-agents",
            "toolhost-contract",
            "toolhost-egress",
            "toolhost-files",
            "toolhost-manifest",
            "toolhost-oauth",
            "toolhost-runtime",
            "toolhost-sandbox",
            "toolhost-schema",
            "toolhost-store",
        ],
    ),
    ("toolhost-otel", &[]),
    ("toolhost-nats", &["toolhost", "toolhost-contract"]),
    ("toolhost-page", &["toolhost", "toolhost-runtime"]),
    (
        "toolhost-mcp",
        &["toolhost", "toolhost-files", "toolhost-runtime"],
    ),
    (
        "toolhost-rpc",
        &[
            "toolhost",
            "toolhost-features",
            "toolhost-files",
            "toolhost-runtime",
        ],
    ),
    ("toolhost-mcp-client", &["toolhost", "toolhost-runtime"]),
    (
        "toolhost-changesets",
        &["toolhost", "toolhost-files", "toolhost-store"],
    ),
    (
        "toolhost-testing",
        &[
            "toolhost",
            "toolhost-contract",
            "toolhost-features",
            "toolhost-files",
            "toolhost-manifest",
            "toolhost-schema",
        ],
    ),
    (
        "toolhost-cli",
        &[
            "toolhost",
            "toolhost-contract",
            "toolhost-features",
            "toolhost-files",
            "toolhost-manifest",
            "toolhost-mcp",
            "toolhost-rpc",
            "toolhost-mcp-client",
            "toolhost-nats",
            "toolhost-otel",
            "toolhost-page",
            "toolhost-package",
            "toolhost-changesets",
            "toolhost-schema",
            "toolhost-testing",
        ],
    ),
];

/// The only crates that may name a dependency, by the beginning of its name.
const OWNERS: [(&str, &[&str]); 25] = [
    ("wasmtime", &["toolhost-sandbox"]),
    ("wasmparser", &["toolhost-sandbox", "toolhost-cli"]),
    ("wasm-encoder", &["toolhost-sandbox"]),
    ("wit-component", &["toolhost-cli"]),
    ("wit-parser", &["toolhost-cli"]),
    ("wasi-preview1-component-adapter", &["toolhost-cli"]),
    ("cap-fs-ext", &["toolhost-files"]),
    (
        "hyper",
        &[
            "toolhost-egress",
            "toolhost-mcp",
            "toolhost-page",
            "toolhost-testing",
        ],
    ),
    // The store: the connection to PostgreSQL, which is no HTTP.
    ("rustls", &["toolhost-egress", "toolhost-store"]),
    ("tokio-rustls", &["toolhost-egress", "toolhost-store"]),
    (
        "webpki-roots",
        &["toolhost-egress", "toolhost-nats", "toolhost-store"],
    ),
    ("async-nats", &["toolhost-nats"]),
    ("tokio-postgres", &["toolhost-store"]),
    ("jsonschema", &["toolhost-schema"]),
    ("serde-saphyr", &["toolhost-manifest"]),
    ("rusqlite", &["toolhost-store"]),
    ("oauth2", &["toolhost-oauth"]),
    ("chacha20poly1305", &["toolhost-oauth"]),
    ("sigstore", &["toolhost-package"]),
    ("docker_credential", &["toolhost-package"]),
    ("opentelemetry", &["toolhost-otel"]),
    ("rmcp", &["toolhost-mcp", "toolhost-mcp-client"]),
    ("clap", &["toolhost-cli", "xtask"]),
    ("miette", &["toolhost-cli"]),
    ("anyhow", &["toolhost-cli", "xtask"]),
];

/// Selections of crates that link the engine and must share one build of it, with the kinds of their
/// dependencies. Those that are published are built with their tests or examples, or beside
/// `toolhost-features`.
const SELECTIONS: [&[&str]; 8] = [
    &["-e", "normal,build,dev", "-p", "toolhost-sandbox"],
    &[
        "-e",
        "normal,build",
        "-p",
        "toolhost-sandbox",
        "-p",
        "toolhost-features",
    ],
    &["-e", "normal,build,dev", "-p", "toolhost"],
    &[
        "-e",
        "normal,build",
        "-p",
        "toolhost",
        "-p",
        "toolhost-features",
    ],
    &["-e", "normal,build", "-p", "toolhost-rpc"],
    &["-e", "normal,build", "-p", "toolhost-testing"],
    &["-e", "normal,build", "-p", "toolhost-cli"],
    &["-e", "normal,build", "-p", "toolhost-tests"],
];

/// Returns what cargo prints in the workspace.
fn cargo(args: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    let ended = cargo.args(args).current_dir(root("")).output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{errors}");
    String::from_utf8(ended.stdout).unwrap()
}

/// Returns the registry packages of a selection, each with its sorted lists of features: a package
/// may occur several times, in several versions or for the host and the target.
fn features(selection: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let format = ["tree", "--offline", "--prefix", "none", "-f", "{p} [{f}]"];
    let mut packages: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in cargo(&[&format, selection].concat()).lines() {
        let line = line.trim_end_matches(" (*)");
        let Some((package, features)) = line.split_once(" [") else {
            continue;
        };
        // A package of the workspace has its path after its version.
        if !package.contains(" (/") {
            let features = features.trim_end_matches(']').to_owned();
            packages
                .entry(package.to_owned())
                .or_default()
                .insert(features);
        }
    }
    packages
}

/// Returns the dependencies of each package of the workspace, without those of builds and tests.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = cargo(&["metadata", "--format-version=1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let shipped = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|dependency| dependency["kind"].is_null())
            .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            (
                package["name"].as_str().unwrap().to_owned(),
                shipped(package),
            )
        })
        .collect()
}

#[test]
fn dependencies_point_one_way() {
    let all = dependencies();
    for (name, allowed) in ORDER {
        let own: Vec<_> = all[name]
            .iter()
            .filter(|d| d.starts_with("toolhost"))
            .collect();
        for dependency in own {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} depends on {dependency}"
            );
        }
    }
}

#[test]
fn only_its_owners_name_a_dependency() {
    for (name, dependencies) in dependencies() {
        // Tests and benchmarks are not part of the product.
        if [
            "toolhost-bench",
            "toolhost-demo",
            "toolhost-features",
            "toolhost-pure",
            "toolhost-tests",
        ]
        .contains(&name.as_str())
        {
            continue;
        }
        for dependency in dependencies {
            for (beginning, owners) in OWNERS {
                let named = dependency.starts_with(beginning);
                assert!(
                    !named || owners.contains(&name.as_str()),
                    "{name} depends on {dependency}"
                );
            }
        }
    }
}

#[test]
fn every_crate_has_a_rule() {
    let known = |name: &str| {
        [
            "toolhost-bench",
            "toolhost-demo",
            "toolhost-pure",
            "toolhost-tests",
            "xtask",
        ]
        .contains(&name)
            || ORDER.iter().any(|(known, _)| *known == name)
    };
    for name in dependencies().keys() {
        assert!(known(name), "{name} is missing in the order of the crates");
    }
}

#[test]
fn each_selection_of_crates_builds_the_dependencies_with_the_same_features() {
    let workspace = features(&["-e", "normal,build,dev", "--workspace"]);
    assert!(
        workspace
            .keys()
            .any(|package| package.starts_with("wasmtime "))
    );
    for selection in SELECTIONS {
        for (package, selected) in features(selection) {
            let unified = &workspace[&package];
            assert!(
                selected.is_subset(unified),
                "{selection:?} builds {package} with the features {selected:?}, the workspace with \
                 {unified:?}: add the missing features to host/toolhost-features/Cargo.toml"
            );
        }
    }
}

/// The Rust files of a folder, but those of its tests.
fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            all.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push(path);
        }
    }
    all
}

#[test]
fn only_the_lease_of_the_store_learns_from_a_file_lock_whether_a_process_is_alive() {
    let mut with_locks = BTreeSet::new();
    for name in [
        "toolhost",
        "toolhost-agents",
        "toolhost-store",
        "toolhost-testing",
    ] {
        let host = root("host");
        for file in rust_files(&host.join(name).join("src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            let locks_files = text.contains("fs::File") && text.contains(".try_lock(");
            if text.contains("flock") || locks_files {
                with_locks.insert(file.strip_prefix(&host).unwrap().to_owned());
            }
        }
    }
    let lease = PathBuf::from("toolhost-store/src/lease.rs");
    assert_eq!(with_locks, BTreeSet::from([lease]));
}

/// Crates beneath the engine, or beside it: whoever uses them links no compiler.
const WITHOUT_ENGINE: [&str; 10] = [
    "toolhost-agents",
    "toolhost-contract",
    "toolhost-egress",
    "toolhost-files",
    "toolhost-manifest",
    "toolhost-oauth",
    "toolhost-package",
    "toolhost-runtime",
    "toolhost-schema",
    "toolhost-store",
];

#[test]
fn no_engine_lies_beneath_the_crates_that_need_none() {
    for package in WITHOUT_ENGINE {
        let tree = cargo(&[
            "tree", "--locked", "-e", "normal", "--prefix", "none", "-p", package,
        ]);
        for engine in ["wasmtime", "cranelift"] {
            assert!(
                !tree.lines().any(|line| line.starts_with(engine)),
                "{package} depends on {engine}: {tree}"
            );
        }
    }
}
