//! The direction of dependencies, and who owns what: read from `cargo metadata`.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use toolhost_tests::root;

/// What each crate may depend on among its own, in the order of ARCHITECTURE.md.
const ORDER: [(&str, &[&str]); 10] = [
    ("toolhost-features", &[]),
    ("toolhost-contract", &[]),
    (
        "toolhost-sandbox",
        &["toolhost-contract", "toolhost-features"],
    ),
    ("toolhost-store", &["toolhost-features"]),
    (
        "toolhost-manifest",
        &["toolhost-contract", "toolhost-features"],
    ),
    (
        "toolhost-agents",
        &["toolhost-contract", "toolhost-features", "toolhost-store"],
    ),
    (
        "toolhost",
        &[
            "toolhost-agents",
            "toolhost-contract",
            "toolhost-features",
            "toolhost-manifest",
            "toolhost-sandbox",
            "toolhost-store",
        ],
    ),
    ("toolhost-otel", &["toolhost-features"]),
    (
        "toolhost-testing",
        &[
            "toolhost",
            "toolhost-contract",
            "toolhost-features",
            "toolhost-manifest",
        ],
    ),
    (
        "toolhost-cli",
        &[
            "toolhost",
            "toolhost-contract",
            "toolhost-features",
            "toolhost-testing",
        ],
    ),
];

/// Who alone may name a dependency, by the beginning of its name.
const OWNERS: [(&str, &[&str]); 12] = [
    ("wasmtime", &["toolhost-sandbox"]),
    ("wasmparser", &["toolhost-sandbox"]),
    ("cap-fs-ext", &["toolhost-sandbox"]),
    ("rustls", &["toolhost-sandbox"]),
    ("jsonschema", &["toolhost-manifest"]),
    ("serde-saphyr", &["toolhost-manifest"]),
    ("rusqlite", &["toolhost-store"]),
    ("opentelemetry", &["toolhost-otel"]),
    ("rmcp", &["toolhost-mcp"]),
    ("clap", &["toolhost-cli", "xtask"]),
    ("miette", &["toolhost-cli"]),
    ("anyhow", &["toolhost-cli", "xtask"]),
];

/// The dependencies each package of the workspace ships with: no build, no test dependencies.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let cargo = env!("CARGO");
    let told = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root(""))
        .output()
        .unwrap();
    assert!(
        told.status.success(),
        "{}",
        String::from_utf8_lossy(&told.stderr)
    );
    let metadata: Value = serde_json::from_slice(&told.stdout).unwrap();
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
fn every_crate_is_known_to_the_rules() {
    let known = |name: &str| {
        ["toolhost-bench", "toolhost-demo", "toolhost-tests", "xtask"].contains(&name)
            || ORDER.iter().any(|(known, _)| *known == name)
    };
    for name in dependencies().keys() {
        assert!(
            known(name),
            "{name} has no place in the direction of dependencies"
        );
    }
}
