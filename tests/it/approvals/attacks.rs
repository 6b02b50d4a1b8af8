//! What strangers try against approvals. Each test asserts that the effect is absent.

use std::fs;

use serde_json::json;
use toolhost::approvals::{ApprovalError, Approvals};
use toolhost_tests::guest;
use toolhost_tests::test_host::code;

use super::{Site, ended, names, write};

const ASKS: &str = "tools: {files: {ask: effects}}";

#[tokio::test]
async fn the_id_of_another_instance_and_one_that_is_made_up_decide_nothing() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let waiting = running.waiting().await;
    let agent = running.loaded.only_agent().unwrap();
    let workdir = running.host.workdir(site.path("work")).unwrap();
    let other = agent.instance("other", workdir);
    assert!(other.approvals().waiting().await.unwrap().is_empty());
    for id in [
        waiting.id.as_str(),
        "approval_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        waiting.digest.as_str(),
        handle.as_str(),
        "",
        "' OR 1=1 --",
    ] {
        let refused = other.approvals().approve(id, "mallory", None).await;
        assert!(
            matches!(refused, Err(ApprovalError::Unknown { .. })),
            "{id}: {refused:?}"
        );
    }
    // The handle of the call is of no use to another instance either.
    assert_eq!(code(&other.poll(&handle).await), "E_TOOL_UNKNOWN_HANDLE");
    assert_eq!(code(&other.cancel(&handle).await), "E_TOOL_UNKNOWN_HANDLE");
    assert_eq!(running.waiting().await.id, waiting.id);
    assert_eq!(site.names(), Vec::<String>::new());
}

#[tokio::test]
async fn an_agent_sees_and_decides_nothing_by_what_it_gets() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    let result = running.call("files__write", write("a.txt")).await;
    let id = running.waiting().await.id;
    let seen = [
        result.to_text(),
        result.to_openai().to_string(),
        result.to_mcp().to_string(),
        serde_json::to_string(&result).unwrap(),
    ];
    for text in seen {
        assert!(!text.contains(&id), "{text}");
    }
}

#[tokio::test]
async fn staged_files_that_were_changed_are_not_committed_and_it_is_asked_again() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let staging = site.path("state/staging").join(&site.staged()[0]);
    let file = names(&staging)
        .into_iter()
        .find(|name| name.starts_with('f'));
    fs::write(staging.join(file.unwrap()), "evil").unwrap();
    running.approve().await;
    let reply = running.instance.poll(&handle).await;
    assert!(reply.awaits_approval().is_some(), "{reply:?}");
    assert_eq!(site.names(), Vec::<String>::new());
    running.approve().await;
    assert_eq!(ended(&running.instance, &handle).await.tool_error(), None);
    assert_eq!(site.work("a.txt").as_deref(), Some("new\n"));
}

#[tokio::test]
async fn another_component_is_asked_for_anew() {
    for policy in [ASKS, "tools: {files: {ask: always}}"] {
        let site = Site::new();
        let running = site.start(policy).await;
        let effect = if policy == ASKS { "workdir" } else { "call" };
        let handle = running.held("files__write", write("a.txt"), effect).await;
        let id = running.approve().await.id;
        drop(running);
        // Another version: the same code, and bytes that nothing reads.
        let mut component = guest("file-system");
        component.extend([0, 2, 1, b'x']);
        fs::write(site.path("bundle/file-system.wasm"), component).unwrap();
        let again = site.start(policy).await;
        let reply = again.instance.poll(&handle).await;
        assert_eq!(
            reply.awaits_approval().unwrap().effect.as_str(),
            effect,
            "{reply:?}"
        );
        assert_eq!(site.names(), Vec::<String>::new());
        assert_ne!(again.waiting().await.id, id);
        again.approve().await;
        assert_eq!(ended(&again.instance, &handle).await.tool_error(), None);
        assert_eq!(site.names(), ["a.txt"]);
    }
}

#[tokio::test]
async fn another_policy_decides_anew() {
    for (policy, ends) in [
        (
            "tools: {files: {ask: effects, limits: {files: 50}}}",
            "asks",
        ),
        (
            "tools: {files: {ask: {deny: [{args: {path: \"*\"}}]}}}",
            "E_TOOL_DENIED",
        ),
        ("tools: {files: {readOnly: true}}", "READ_ONLY"),
        ("tools: {files: {ask: never}}", "runs"),
    ] {
        let site = Site::new();
        let running = site.start(ASKS).await;
        let handle = running
            .held("files__write", write("a.txt"), "workdir")
            .await;
        running.waiting().await;
        let doors = Approvals::open(&site.path("state")).unwrap();
        drop(running);
        let id = doors.waiting().await.unwrap()[0].id.clone();
        doors.approve(&id, "alice", None).await.unwrap();
        let again = site.start(policy).await;
        let reply = again.instance.poll(&handle).await;
        match ends {
            "asks" => assert!(reply.awaits_approval().is_some(), "{policy}: {reply:?}"),
            "runs" => assert_eq!(reply.tool_error(), None, "{policy}"),
            denied => assert_eq!(code(&reply), denied, "{policy}: {reply:?}"),
        }
        let written = if ends == "runs" {
            vec!["a.txt".to_owned()]
        } else {
            vec![]
        };
        assert_eq!(site.names(), written, "{policy}");
        assert_eq!(site.staged().len(), usize::from(ends == "asks"), "{policy}");
    }
}

#[tokio::test]
async fn a_workdir_that_was_changed_meanwhile_is_not_overwritten() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    site.write("a.txt", "by somebody\n");
    running.approve().await;
    let reply = running.instance.poll(&handle).await;
    assert!(reply.awaits_approval().is_some(), "{reply:?}");
    assert_eq!(site.work("a.txt").as_deref(), Some("by somebody\n"));
    running.deny("no").await;
    assert_eq!(
        code(&ended(&running.instance, &handle).await),
        "E_TOOL_APPROVAL_DENIED"
    );
    assert_eq!(site.work("a.txt").as_deref(), Some("by somebody\n"));
    assert_eq!(site.staged(), Vec::<String>::new());
}

#[tokio::test]
async fn a_path_that_became_a_link_out_of_the_workdir_is_not_followed() {
    let site = Site::new();
    fs::create_dir(site.path("work/dir")).unwrap();
    fs::create_dir(site.path("outside")).unwrap();
    let running = site.start(ASKS).await;
    let handle = running
        .held("files__write", write("dir/a.txt"), "workdir")
        .await;
    fs::remove_dir(site.path("work/dir")).unwrap();
    std::os::unix::fs::symlink(site.path("outside"), site.path("work/dir")).unwrap();
    running.approve().await;
    let result = running.instance.poll(&handle).await;
    assert_ne!(result.status(), toolhost::ToolStatus::Ok, "{result:?}");
    assert_eq!(names(&site.path("outside")), Vec::<String>::new());
}

#[tokio::test]
async fn secrets_are_not_shown_to_who_approves() {
    let site = Site::new();
    let policy =
        json!({"tools": {"files": {"ask": "effects", "env": {"KEY": {"secret": "s3cr3t-value"}}}}});
    let running = site.start(&policy.to_string()).await;
    let args = json!({"path": "a.txt", "content": "the key is s3cr3t-value"});
    running.held("files__write", args, "workdir").await;
    let shown = serde_json::to_string(&running.waiting().await).unwrap();
    assert!(!shown.contains("s3cr3t-value"), "{shown}");
    assert!(shown.contains("the key is"), "{shown}");
}
