//! A process without addresses for the memory of an instance.

use serde_json::json;

use super::host_process::{HostProcess, bundle};

#[test]
fn a_component_is_not_blamed_where_the_machine_has_no_memory_for_an_instance() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    std::fs::create_dir(at("work")).unwrap();
    bundle(&at("bundle"), &[("text", "text", &["upper"] as &[&str])]);
    // A memory takes more than 4 GiB of addresses; compiling takes less. KiB.
    let mut host = HostProcess::after("ulimit -v 3900000");
    let state = at("state");
    // An empty cache: `describe` must run.
    host.must(json!({"op": "start", "state": state, "cache": at("cache"), "keys": at("keys")}));
    let loaded = host.send(json!({"op": "load", "bundle": at("bundle"), "work": at("work")}));
    let error = loaded["error"].as_str().unwrap();
    assert!(error.contains("E_HOST"), "{error}");
    assert!(error.contains("cannot map a memory: "), "{error}");
    assert!(!error.contains("E_COMPONENT"), "{error}");
}
