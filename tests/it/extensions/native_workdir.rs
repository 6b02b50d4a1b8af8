//! The workdir that a native handler gets.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};
use toolhost::{HandlerError, JsonObject, extension::HandlerContext};
use toolhost_tests::test_host::{TestHost, open_step, tool_call};

use super::item;

/// Reads and writes beneath `context.workdir`, as a handler would that joins it.
async fn write(context: HandlerContext, _: JsonObject) -> Result<Value, HandlerError> {
    let workdir = Path::new(&context.context.workdir);
    std::fs::write(workdir.join("written.txt"), "by its path")?;
    Ok(json!(context.context.workdir))
}

async fn test_host() -> TestHost {
    let test_host = TestHost::with_tools(&[("text", "text", &["upper"])], "").await;
    let extended = test_host
        .agent
        .extend("ext", |api| api.tools().register(item("dyn__write"), write));
    extended.unwrap();
    test_host
}

#[tokio::test]
async fn a_native_handler_that_joins_the_workdir_of_its_context_stays_in_the_workdir() {
    // tool-spec-v2 §2.5(1), §2.5(2)
    let test_host = test_host().await;
    let step = test_host.another_step().await;
    let result = step
        .execute_without_message(tool_call("dyn__write", json!({})))
        .await;
    let path = test_host.work.dir.path().canonicalize().unwrap();
    assert_eq!(result.output(), Some(&json!(path)));
    assert_eq!(
        std::fs::read_to_string(path.join("written.txt")).unwrap(),
        "by its path"
    );
}

#[tokio::test]
async fn the_path_of_a_workdir_leads_to_the_opened_directory_whatever_its_name() {
    let test_host = test_host().await;
    let top = tempfile::tempdir().unwrap();
    for name in [&b"plain"[..], b"not utf8 \xff", b"x (deleted)"] {
        let (path, moved) = (
            top.path().join(OsStr::from_bytes(name)),
            top.path().join("moved"),
        );
        std::fs::create_dir(&path).unwrap();
        let workdir = test_host.host.workdir(&path).unwrap();
        std::fs::rename(&path, &moved).unwrap();
        std::fs::create_dir(&path).unwrap();
        std::fs::rename(&moved, path.join("opened")).unwrap();
        let step = open_step(&test_host.agent, "instance", &workdir).await;
        let result = step
            .execute_without_message(tool_call("dyn__write", json!({})))
            .await;
        assert!(result.output().is_some(), "{result:?}");
        assert!(path.join("opened").join("written.txt").exists(), "{name:?}");
    }
}
