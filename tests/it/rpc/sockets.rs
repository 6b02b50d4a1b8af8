//! The file of a Unix socket, and connections to it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::json;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use toolhost_rpc::{RpcServer, SocketError, UnixSocket};

use super::{Client, assert_stopped, call, config, endless_call, tools, until_it_writes};

async fn client(path: &Path) -> Client<OwnedReadHalf, OwnedWriteHalf> {
    let stream = UnixStream::connect(path).await.unwrap();
    let (reader, writer) = stream.into_split();
    Client::new(reader, writer)
}

#[tokio::test]
async fn clients_of_a_socket_are_served_until_it_is_drained() {
    let (test_host, dir) = (tools("").await, tempfile::tempdir().unwrap());
    let path = dir.path().join("rpc.sock");
    let server = RpcServer::new(config(&test_host));
    let socket = UnixSocket::bind(&path).await.unwrap();
    let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let serving = server.clone();
    let serving = tokio::spawn(async move { serving.serve_socket(socket).await });

    let (mut one, mut other) = (client(&path).await, client(&path).await);
    for client in [&mut one, &mut other] {
        let params = call("text__upper", json!({"text": "a"}));
        let result = client.request("call/execute", params).await;
        assert_eq!(result["output"], json!({"text": "A"}));
    }
    one.send("call/execute", endless_call()).await;
    until_it_writes(&test_host).await;
    drop(one);
    assert_stopped(&test_host).await;

    let params = call("sleep__run", json!({"seconds": 1.0}));
    other.send("call/execute", params).await;
    other.request("host/info", json!({})).await;
    server.drain();
    assert_eq!(other.answer().await["result"]["status"], "ok");
    serving.await.unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_path_that_exists_is_refused_unless_it_is_a_socket_that_nobody_serves() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("file"), "kept").unwrap();
    fs::create_dir(path("folder")).unwrap();
    std::os::unix::fs::symlink(path("missing"), path("link")).unwrap();
    for name in ["file", "folder", "link"] {
        let refused = UnixSocket::bind(path(name)).await.unwrap_err();
        assert!(matches!(refused, SocketError::NotOurs { .. }), "{refused}");
    }
    assert_eq!(fs::read(path("file")).unwrap(), b"kept");
    assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());

    let of_another = UnixListener::bind(path("used")).unwrap();
    let refused = UnixSocket::bind(path("used")).await.unwrap_err();
    assert!(matches!(refused, SocketError::InUse { .. }), "{refused}");
    // A listener leaves its file behind.
    drop(of_another);
    let socket = UnixSocket::bind(path("used")).await.unwrap();
    let refused = UnixSocket::bind(path("used")).await.unwrap_err();
    assert!(matches!(refused, SocketError::InUse { .. }), "{refused}");

    // A file that took its place is not removed with the socket.
    fs::remove_file(path("used")).unwrap();
    fs::write(path("used"), "another's").unwrap();
    drop(socket);
    assert_eq!(fs::read(path("used")).unwrap(), b"another's");

    let long = UnixSocket::bind(path(&"x".repeat(200))).await.unwrap_err();
    assert!(matches!(long, SocketError::Create { .. }), "{long}");
    let nowhere = UnixSocket::bind(path("none/rpc.sock")).await.unwrap_err();
    assert!(matches!(nowhere, SocketError::Create { .. }), "{nowhere}");
}

#[tokio::test]
async fn of_servers_that_start_at_once_one_gets_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rpc.sock");
    drop(UnixListener::bind(&path).unwrap());
    let starting = (0..16).map(|_| tokio::spawn(UnixSocket::bind(path.clone())));
    let mut bound = Vec::new();
    for started in starting.collect::<Vec<_>>() {
        bound.extend(started.await.unwrap().ok());
    }
    assert_eq!(bound.len(), 1);
    UnixStream::connect(&path).await.unwrap();
}
