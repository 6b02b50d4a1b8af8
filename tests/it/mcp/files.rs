//! Files of the workdir in results, and as resources.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{initialized, server, test_host};

#[tokio::test]
async fn files_that_an_output_names_are_content_of_their_kind() {
    let test_host = test_host().await;
    std::fs::write(test_host.work.path("chart.png"), [0x89, b'P', b'N', b'G']).unwrap();
    std::fs::write(test_host.work.path("sound.wav"), b"RIFF").unwrap();
    std::fs::write(test_host.work.path("notes.md"), "# Notes").unwrap();
    std::fs::write(test_host.work.path("data.bin"), [0xff, 0]).unwrap();
    let mut peer = initialized(&server(&test_host, |_| ())).await;
    let output = json!({
        "chart": {"$file": "/chart.png"},
        "more": [{"$file": "sound.wav"}, {"$file": "notes.md"}, {"$file": "data.bin"}],
        "typed": {"$file": "data.bin", "mimeType": "image/x-own"},
    });
    let answer = peer.call("echo__say", output).await;
    let content = answer["content"].as_array().unwrap();
    assert_eq!(content[0]["type"], "text");
    assert_eq!(
        content[1],
        json!({"type": "image", "data": "iVBORw==", "mimeType": "image/png"})
    );
    assert_eq!(
        content[2],
        json!({"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"})
    );
    assert_eq!(
        content[3]["resource"],
        json!({"uri": "workdir:///notes.md", "mimeType": "text/markdown", "text": "# Notes"})
    );
    assert_eq!(
        content[4]["resource"],
        json!({"uri": "workdir:///data.bin", "mimeType": "application/octet-stream", "blob": "/wA="})
    );
    assert_eq!(content[5]["mimeType"], "image/x-own");
    assert_eq!(content.len(), 6);
}

#[tokio::test]
async fn a_large_file_is_a_link_and_files_beyond_the_limit_are_left_out() {
    let test_host = test_host().await;
    std::fs::write(test_host.work.path("large ü.txt"), "x".repeat(101)).unwrap();
    std::fs::write(test_host.work.path("small.txt"), "x".repeat(100)).unwrap();
    let server = server(&test_host, |config| {
        config.file_bytes = 100;
        config.max_files = 2;
        config.serve_workdir = true;
    });
    let mut peer = initialized(&server).await;
    let named = |path: &str| json!({"$file": path});
    let output = json!({"files": [named("large ü.txt"), named("small.txt"), named("small.txt")]});
    let answer = peer.call("echo__say", output).await;
    let content = answer["content"].as_array().unwrap();
    assert_eq!(content[1]["type"], "resource_link");
    assert_eq!(content[1]["uri"], "workdir:///large%20%C3%BC.txt");
    assert_eq!(content[1]["size"], 101);
    assert_eq!(content[2]["resource"]["text"], "x".repeat(100));
    assert_eq!(content.len(), 3);
    let linked = json!({"uri": content[1]["uri"]});
    let read = peer.request("resources/read", linked).await;
    let text = &read["result"]["contents"][0]["text"];
    assert_eq!(*text, "x".repeat(101), "the link leads to the file: {read}");
}

#[tokio::test]
async fn a_large_file_is_named_in_a_text_if_clients_cannot_read_resources() {
    let test_host = test_host().await;
    std::fs::write(test_host.work.path("large.txt"), "x".repeat(101)).unwrap();
    let server = server(&test_host, |config| config.file_bytes = 100);
    let mut peer = initialized(&server).await;
    let answer = peer.call("echo__say", json!({"$file": "large.txt"})).await;
    let text = answer["content"][1]["text"].as_str().unwrap();
    assert!(
        text.contains("large.txt") && text.contains("101 bytes"),
        "{text}"
    );
    assert!(!answer.to_string().contains("xxx"), "{answer}");
}

#[tokio::test]
async fn the_files_of_a_result_have_a_limit_together() {
    let test_host = test_host().await;
    std::fs::write(test_host.work.path("a.txt"), "a".repeat(60)).unwrap();
    std::fs::write(test_host.work.path("b.txt"), "b".repeat(60)).unwrap();
    let server = server(&test_host, |config| {
        config.result_file_bytes = 100;
        config.serve_workdir = true;
    });
    let mut peer = initialized(&server).await;
    let output = json!([{"$file": "a.txt"}, {"$file": "b.txt"}, {"$file": "a.txt"}]);
    let answer = peer.call("echo__say", json!({"files": output})).await;
    let kinds: Vec<&Value> = answer["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["type"])
        .collect();
    assert_eq!(
        kinds,
        ["text", "resource", "resource_link", "resource_link"]
    );
}

#[tokio::test]
async fn a_resource_above_the_limit_is_refused_with_its_size() {
    let test_host = test_host().await;
    std::fs::write(test_host.work.path("large.txt"), "x".repeat(101)).unwrap();
    let server = server(&test_host, |config| {
        config.resource_bytes = 100;
        config.serve_workdir = true;
    });
    let mut peer = initialized(&server).await;
    let read = json!({"uri": "workdir:///large.txt"});
    let answer = peer.request("resources/read", read).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("101 bytes") && message.contains("100"),
        "{message}"
    );
}

#[tokio::test]
async fn no_file_outside_the_workdir_is_read() {
    let test_host = test_host().await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "SECRET").unwrap();
    symlink(outside.path(), test_host.work.path("link")).unwrap();
    symlink(
        outside.path().join("secret.txt"),
        test_host.work.path("direct.txt"),
    )
    .unwrap();
    let fifo = rustix::fs::Mode::from(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, test_host.work.path("fifo"), fifo).unwrap();
    let server = server(&test_host, |config| config.serve_workdir = true);
    let mut peer = initialized(&server).await;
    let absolute = outside.path().join("secret.txt");
    let paths = [
        "link/secret.txt",
        "direct.txt",
        "../../../etc/hostname",
        "/etc/hostname",
        absolute.to_str().unwrap(),
        "fifo",
        "missing.txt",
        "",
        ".",
        "a\0b",
    ];
    for path in paths {
        let answer = peer.call("echo__say", json!({"f": {"$file": path}})).await;
        let block = &answer["content"][1];
        assert_eq!(block["type"], "text", "{path}: {answer}");
        assert!(
            block["text"].as_str().unwrap().contains("cannot be read"),
            "{block}"
        );
        let uri = format!("workdir:///{path}");
        let read = peer.request("resources/read", json!({"uri": uri})).await;
        assert!(read["error"].is_object(), "{path}: {read}");
        assert!(!read.to_string().contains("SECRET"));
    }
}

#[tokio::test]
async fn resources_are_the_files_of_the_workdir_only_if_the_operator_serves_them() {
    let test_host = test_host().await;
    std::fs::create_dir(test_host.work.path("sub")).unwrap();
    std::fs::write(test_host.work.path("sub/a.txt"), "A").unwrap();
    std::fs::write(test_host.work.path("b.json"), "{}").unwrap();
    let read = json!({"uri": "workdir:///sub/a.txt"});
    let mut refused = initialized(&server(&test_host, |_| ())).await;
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", read.clone()),
    ] {
        let answer = refused.request(method, params).await;
        assert!(answer["error"].is_object(), "{answer}");
    }
    let mut peer = initialized(&server(&test_host, |config| config.serve_workdir = true)).await;
    let listed = peer.request("resources/list", json!({})).await;
    let uris: Vec<&Value> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| &resource["uri"])
        .collect();
    assert_eq!(uris, ["workdir:///b.json", "workdir:///sub/a.txt"]);
    let answer = peer.request("resources/read", read).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "A", "{answer}");
    let templates = peer.request("resources/templates/list", json!({})).await;
    let templates = &templates["result"]["resourceTemplates"];
    assert_eq!(templates[0]["uriTemplate"], "workdir:///{+path}");
    let missing = json!({"uri": "workdir:///missing.txt"});
    let answer = peer.request("resources/read", missing.clone()).await;
    assert_eq!(answer["error"]["data"], missing, "{answer}");
}
