//! Whose handles are whose.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;
use toolhost::Host;
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{code, write_bundle, yaml};

use super::{ended, submit};
use crate::execute::EXAMPLES;

#[tokio::test]
async fn bundles_whose_paths_are_not_utf8_share_no_workspace_and_no_handles() {
    let (state, top) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let host = Host::builder().sandbox(sandbox()).state_root(state.path());
    let host = host.build().unwrap();
    let (mut instances, mut workspaces) = (Vec::new(), BTreeSet::new());
    for name in [&b"b\xff"[..], b"b\xfe", "b\u{fffd}".as_bytes()] {
        let bundle = top.path().join(OsStr::from_bytes(name));
        std::fs::create_dir(&bundle).unwrap();
        write_bundle(&bundle, &yaml(&[("text", "text", EXAMPLES)]), &["text"]);
        let loaded = host.load(&bundle).await.unwrap();
        let workspace = loaded.instance_workspace("k").unwrap();
        instances.push(loaded.only_agent().unwrap().instance("k", workspace));
        workspaces.insert(loaded.instance_path("k").unwrap());
    }
    assert_eq!(workspaces.len(), instances.len());
    let mut handles = Vec::new();
    for (own, instance) in instances.iter().enumerate() {
        let step = instance
            .open_turn("t")
            .await
            .unwrap()
            .open_step()
            .await
            .unwrap();
        let accepted = submit(&step, "c", "text__upper", json!({"text": own.to_string()})).await;
        handles.push(accepted.handle().unwrap().to_owned());
    }
    for (own, instance) in instances.iter().enumerate() {
        for (of, handle) in handles.iter().enumerate() {
            if of == own {
                let result = ended(instance, handle).await;
                assert_eq!(result.output(), Some(&json!({"text": own.to_string()})));
            } else {
                let result = instance.poll(handle).await;
                assert_eq!(code(&result), "E_TOOL_UNKNOWN_HANDLE", "{of} from {own}");
            }
        }
    }
}
