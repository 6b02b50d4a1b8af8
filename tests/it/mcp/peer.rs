//! A client on a stream, which sends and receives single messages.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolhost_mcp::{McpServer, ServeError};

/// Longest wait for a message. Nothing is slow here; a test that fails should end.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Peer {
    read: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    /// What was received and not yet asked for.
    received: VecDeque<Value>,
    next_id: u64,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Peer {
    pub(crate) fn connect(server: &McpServer) -> Self {
        Self::connect_as(server, "instance")
    }

    /// Connects as a client of the instance `key`.
    pub(crate) fn connect_as(server: &McpServer, key: &'static str) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(ours);
        let (their_read, their_write) = tokio::io::split(theirs);
        let server = server.clone();
        let serving = tokio::spawn(async move { server.serve(their_read, their_write, key).await });
        Self {
            read: BufReader::new(read).lines(),
            write,
            received: VecDeque::new(),
            next_id: 1,
            serving,
        }
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = self.request("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        self.send_bytes(line.as_bytes()).await;
    }

    /// Sends a line that may be no text.
    pub(crate) async fn send_bytes(&mut self, line: &[u8]) {
        self.write.write_all(line).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    /// The next message, whatever it is.
    pub(crate) async fn next(&mut self) -> Value {
        self.wait_for(|_| true).await
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send_line(&message.to_string()).await;
    }

    /// Sends a request and returns its id.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_line(&message.to_string()).await;
        id
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.response(id).await
    }

    /// Calls a tool and returns the result.
    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        let answer = self.request("tools/call", params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    pub(crate) async fn response(&mut self, id: u64) -> Value {
        self.wait_for(|message| message["id"] == id && message["method"].is_null())
            .await
    }

    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        self.wait_for(|message| message["method"] == method).await
    }

    /// The notifications of a method that were received so far and not yet asked for.
    pub(crate) fn notifications(&self, method: &str) -> Vec<&Value> {
        let of_method = |message: &&Value| message["method"] == method;
        self.received.iter().filter(of_method).collect()
    }

    async fn wait_for(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.received.iter().position(&is_wanted) {
            return self.received.remove(index).unwrap();
        }
        loop {
            let line = timeout(TIMEOUT, self.read.next_line()).await;
            let line = line.unwrap().unwrap();
            let line = line.unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if is_wanted(&message) {
                return message;
            }
            self.received.push_back(message);
        }
    }

    /// Waits until the server has ended the connection.
    pub(crate) async fn ended(self) -> Result<(), ServeError> {
        let ended = timeout(TIMEOUT, self.serving).await;
        ended.unwrap().unwrap()
    }
}
