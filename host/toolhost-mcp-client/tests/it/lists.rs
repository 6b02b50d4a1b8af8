//! Lists of tools: names, schemas, limits and changes.

use std::time::Duration;

use serde_json::json;
use toolhost::lock::{Grade, LockedServer, ServerLock};
use toolhost::{HandlerError, JsonObject, ToolCatalogItem, extension::HandlerContext};
use toolhost_mcp_client::McpStatus;

use crate::support::{Place, until};

#[tokio::test]
async fn a_tool_with_a_taken_name_or_a_broken_schema_is_left_out_and_the_others_stay() {
    let place = Place::new().await;
    let taken: ToolCatalogItem = serde_json::from_value(json!({"name": "srv__taken"})).unwrap();
    let register = |api: &toolhost::extension::ExtensionApi| {
        api.tools()
            .register(taken, async |_: HandlerContext, _: JsonObject| {
                Ok::<_, HandlerError>(json!("ours"))
            })
    };
    place.agent().extend("other", register).unwrap();
    let server = place.start("names").await;
    let long = format!("srv__{}_c71bd109", "x".repeat(50));
    let mut tools = place.tools();
    tools.sort();
    assert_eq!(
        tools,
        [
            "srv__good",
            "srv__hidden",
            "srv__taken",
            "srv__two_parts",
            "srv__upper",
            &long
        ]
    );
    let findings: Vec<String> = server.findings().iter().map(ToString::to_string).collect();
    for (finding, expected) in findings.iter().zip([
        "the tool 'good' is left out: the server has two tools of this name, and the first is srv__good",
        "the tool 'remote-ref' is left out: extension 'mcp:srv': invalid parameters of srv__remote-ref: ",
        "the tool 'taken' is left out: extension 'mcp:srv': the tool name srv__taken is taken by other",
        "the tool 'no-object' is left out: the top-level 'type' of the schema must be 'object'",
    ]) {
        assert!(finding.starts_with(expected), "{finding}");
    }
    assert_eq!(findings.len(), 4, "{findings:#?}");
    // The other extension's tool is not shadowed.
    assert_eq!(place.output("srv__taken", json!({})).await, json!("ours"));
    let catalog = place.agent().catalog();
    let hidden = catalog.get("srv__hidden").unwrap();
    let hidden = hidden.description.clone().unwrap();
    assert!(
        !hidden.contains('\u{202e}') && hidden.len() <= 8 << 10,
        "{}",
        hidden.len()
    );
}

#[tokio::test]
async fn an_allow_list_and_a_prefix_choose_tools_and_names() {
    let place = Place::new().await;
    let server = place
        .start_with("ok", |config| {
            config.tools = Some(["echo", "missing"].map(str::to_owned).to_vec());
            config.prefix = toolhost::ResourceName::parse("my-files").unwrap();
        })
        .await;
    assert_eq!(place.tools(), ["my-files__echo"]);
    let findings: Vec<String> = server.findings().iter().map(ToString::to_string).collect();
    assert_eq!(
        findings,
        ["the tool 'missing' is left out: the server has no such tool"]
    );
    let text = json!({"text": "hello"});
    assert_eq!(place.output("my-files__echo", text).await, json!("hello"));
}

#[tokio::test]
async fn a_list_that_is_odd_gives_the_tools_that_it_has_and_a_finding_for_each_other() {
    let endless =
        "the tool '…' is left out: the server's list of tools does not end: it repeats a cursor";
    let large = "the tool 'large' is left out: it has 5242";
    for (mode, tools, findings) in [
        ("endless-list", 0, vec![endless]),
        ("same-cursor", 14, vec![endless]),
        ("empty-cursor", 14, vec![]),
        (
            "huge-list",
            41,
            vec!["the tool 't41' is left out: it has 100"; 59],
        ),
        (
            "many-tools",
            500,
            vec!["the tool '…' is left out: the server has more than 500 tools"],
        ),
        ("large-tool", 2, vec![large]),
        (
            "no-schema",
            1,
            vec![
                "the tool 'bare' is left out: it has no 'inputSchema'",
                "the tool '…' is left out: an entry of the list is not an object",
                "the tool '…' is left out: an entry of the list has no name",
            ],
        ),
        ("untyped", 2, vec![]),
        ("output-null", 1, vec![]),
        (
            "look-ahead",
            2,
            vec!["the tool 'mail': a pattern is not checked: '^(?!"],
        ),
    ] {
        let place = Place::new().await;
        let server = place.start(mode).await;
        assert_eq!(server.status(), McpStatus::Ready { tools }, "{mode}");
        let found: Vec<String> = server.findings().iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), findings.len(), "{mode}: {found:#?}");
        let first = found
            .iter()
            .zip(findings)
            .take(if mode == "huge-list" { 1 } else { 9 });
        for (found, expected) in first {
            assert!(found.starts_with(expected), "{mode}: {found}");
        }
        if tools > 0 && !["many-tools", "huge-list"].contains(&mode) {
            place.echoes().await;
        }
    }
}

#[tokio::test]
async fn a_schema_is_checked_without_the_pattern_that_cannot_be() {
    let place = Place::new().await;
    let _server = place.start("look-ahead").await;
    let catalog = place.agent().catalog();
    let mail = catalog.get("srv__mail").unwrap();
    let schema = mail.parameters.as_ref().unwrap().to_value();
    // The model still reads it.
    assert!(
        schema["properties"]["to"]["pattern"].is_string(),
        "{schema}"
    );
    assert_eq!(
        place.output("srv__mail", json!({"to": "a@b"})).await,
        json!("mail")
    );
    for wrong in [json!({}), json!({"to": 1})] {
        let (code, _) = place.error("srv__mail", wrong).await;
        assert_eq!(code, "E_TOOL_INVALID_ARGS");
    }
}

#[tokio::test]
async fn foreign_names_are_written_in_the_characters_of_tools_and_mapped_back() {
    let place = Place::new().await;
    let server = place.start("foreign-names").await;
    let mut tools = place.tools();
    tools.sort();
    assert_eq!(
        tools,
        [
            "srv__api-get-page",
            "srv__calendar_list",
            "srv__echo",
            "srv__files_read",
            "srv__get_issue",
            "srv__get_user",
        ]
    );
    for (tool, name) in [
        ("srv__get_issue", "getIssue"),
        ("srv__api-get-page", "API-get-page"),
        ("srv__calendar_list", "calendar.list"),
        ("srv__files_read", "files/read"),
        ("srv__get_user", "get_user"),
    ] {
        // The server answers with the name that it was called by.
        assert_eq!(place.output(tool, json!({})).await, json!(name));
    }
    let findings: Vec<String> = server.findings().iter().map(ToString::to_string).collect();
    assert_eq!(
        findings,
        [
            "the tool 'getUser' is left out: its name would be srv__get_user, and so would that of the tool 'get_user'",
            "the tool 'x.y' is left out: its name would be srv__x_y, and so would that of the tool 'x/y'",
            "the tool 'x/y' is left out: its name would be srv__x_y, and so would that of the tool 'x.y'",
        ]
    );
    // A lock has the names of agents, and `tools` of a bundle those of the server.
    assert!(server.words().contains_key("srv__get_issue"));
    let place = Place::new().await;
    let _server = place
        .start_with("foreign-names", |config| {
            config.tools = Some(["getUser", "x.y"].map(str::to_owned).to_vec());
        })
        .await;
    assert_eq!(place.tools(), ["srv__get_user", "srv__x_y"]);
    assert_eq!(
        place.output("srv__get_user", json!({})).await,
        json!("getUser")
    );
}

#[tokio::test]
async fn a_changed_list_takes_effect_in_the_next_step() {
    let place = Place::new().await;
    let _server = place.start("ok").await;
    assert!(place.tools().contains(&"srv__fail".to_owned()));
    place.output("srv__grow", json!({})).await;
    until("the list has changed", async || {
        let tools = place.tools();
        tools.contains(&"srv__grown".to_owned()) && !tools.contains(&"srv__fail".to_owned())
    })
    .await;
    assert_eq!(place.output("srv__grown", json!({})).await, json!("grown"));
    let (code, _) = place.error("srv__fail", json!({})).await;
    assert_eq!(code, "E_TOOL_NOT_IN_CATALOG");
}

#[tokio::test]
async fn a_list_that_changes_all_the_time_is_read_at_most_once_in_the_interval() {
    let place = Place::new().await;
    let _server = place.start("list-loop").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    place.echoes().await;
    let lists = place.recorded().matches("list\n").count();
    assert!((2..=14).contains(&lists), "{lists}");
}

#[tokio::test]
async fn a_server_without_initialize_is_used_and_its_changes_are_subscribed_to() {
    let place = Place::new().await;
    let server = place.start("stateless").await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 14 });
    assert!(place.recorded().starts_with("discover 2026-07-28\nlist\n"));
    place.echoes().await;
    until("the subscription reports a change", async || {
        place.output("srv__grow", json!({})).await;
        place.tools().contains(&"srv__grown".to_owned())
    })
    .await;
}

/// The lock of the scripted server in the mode `ok`.
async fn reviewed() -> LockedServer {
    let place = Place::new().await;
    let server = place.start("ok").await;
    LockedServer {
        words: server.words(),
        ..LockedServer::default()
    }
}

#[tokio::test]
async fn a_server_that_changes_what_it_says_after_a_review_loses_the_tool() {
    let place = Place::new().await;
    let lock = ServerLock::new(reviewed().await, Grade::ALL.into());
    let server = place
        .start_with("rug-pull", |config| config.lock = Some(lock))
        .await;
    assert_eq!(server.findings(), []);
    let text = json!({"text": "hello"});
    assert_eq!(
        place.output("srv__echo", text.clone()).await,
        json!("hello")
    );
    until("the tool is gone", async || {
        !place.tools().contains(&"srv__echo".to_owned())
    })
    .await;
    let finding = server.findings()[0].to_string();
    let expected = "the tool 'echo' is left out: description of srv__echo differs from the lock (words): 'A tool' before, 'A tool. First read";
    assert!(finding.starts_with(expected), "{finding}");
    let (code, _) = place.error("srv__echo", text).await;
    assert_eq!(code, "E_TOOL_NOT_IN_CATALOG");
    let calls = place.recorded().matches("call echo").count();
    assert_eq!(calls, 1, "{}", place.recorded());
}

#[tokio::test]
async fn a_tool_that_nobody_has_reviewed_is_left_out_and_others_stay() {
    let place = Place::new().await;
    let all = ServerLock::new(reviewed().await, Grade::ALL.into());
    let server = place
        .start_with("poisoned", |config| config.lock = Some(all))
        .await;
    let tools = place.tools();
    assert!(!tools.contains(&"srv__echo".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"srv__extra".to_owned()), "{tools:?}");
    assert!(tools.contains(&"srv__env".to_owned()), "{tools:?}");
    let findings: Vec<String> = server.findings().iter().map(ToString::to_string).collect();
    assert!(
        findings[1].contains("tool srv__extra differs from the lock (new-tool)"),
        "{findings:#?}"
    );
    // A policy may let words pass, and still stop what is new.
    let place = Place::new().await;
    let new = ServerLock::new(reviewed().await, [Grade::NewTool].into());
    let _server = place
        .start_with("poisoned", |config| config.lock = Some(new))
        .await;
    let tools = place.tools();
    assert!(tools.contains(&"srv__echo".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"srv__extra".to_owned()), "{tools:?}");
}
