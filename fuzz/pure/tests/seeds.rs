//! Checks every property on every seed, so that a fuzz run starts without failures.

use std::path::Path;

use toolhost_pure::properties::{args, bundle, component, names, outcome, policy};

fn check(target: &str, hold: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../corpus")
        .join(target);
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        hold(&std::fs::read(entry.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds > 0, "{target} has no seeds");
}

fn text(hold: fn(&str)) -> impl Fn(&[u8]) {
    move |bytes| hold(std::str::from_utf8(bytes).unwrap())
}

#[test]
fn of_bundles() {
    check("bundle", text(bundle::hold));
}

#[test]
fn of_policies() {
    check("policy", text(policy::hold));
}

#[test]
fn of_names() {
    check("names", text(names::hold));
}

#[test]
fn of_schemas_and_arguments() {
    check("args", text(args::hold));
}

#[test]
fn of_outcomes() {
    check("outcome", text(outcome::hold));
}

#[test]
fn of_components() {
    check("component", |text| {
        component::hold(&wat::parse_bytes(text).unwrap())
    });
}
