//! A client over HTTP, which sends single requests.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolhost_mcp::{HttpConfig, HttpServer, McpServer};

/// Longest wait for a response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server on a free port of loopback, which ends with this.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) running: JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Served {
    pub(crate) async fn start(server: &McpServer, change: impl FnOnce(&mut HttpConfig)) -> Self {
        let mut config = HttpConfig::default();
        change(&mut config);
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let http = HttpServer::bind(server, loopback, config).await.unwrap();
        Self {
            address: http.address(),
            running: tokio::spawn(http.run()),
        }
    }

    /// Posts a message of 2025-11-25 to `/mcp`.
    pub(crate) async fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Answer {
        self.post_to("/mcp", message, headers).await
    }

    pub(crate) async fn post_to(
        &self,
        path: &str,
        message: &Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut stream = self.begin(path, message, headers).await;
        Answer::read(&mut stream).await
    }

    /// Posts a text, which may be no message.
    pub(crate) async fn post_text(
        &self,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut stream = self.begin_text(path, body, headers).await;
        Answer::read(&mut stream).await
    }

    /// Sends a request, and returns the stream that the response comes on.
    pub(crate) async fn begin(
        &self,
        path: &str,
        message: &Value,
        headers: &[(&str, &str)],
    ) -> TcpStream {
        self.begin_text(path, &message.to_string(), headers).await
    }

    async fn begin_text(&self, path: &str, body: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n\
             Content-Length: {}\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.send(&format!("{head}\r\n{body}")).await
    }

    /// Opens a connection and sends a text.
    pub(crate) async fn send(&self, text: &str) -> TcpStream {
        self.send_bytes(text.as_bytes()).await
    }

    pub(crate) async fn send_bytes(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let host = self.address;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        Answer::read(&mut self.send(&request).await).await
    }

    /// Opens a session of 2025-11-25, and returns its id.
    pub(crate) async fn session(&self, path: &str, headers: &[(&str, &str)]) -> String {
        let answer = self.post_to(path, &initialize(), headers).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.header("mcp-session-id").unwrap()
    }
}

pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

pub(crate) fn call(name: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": name, "arguments": arguments,
    }})
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        let read = timeout(TIMEOUT, stream.read_to_end(&mut bytes)).await;
        read.unwrap().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then(|| value.to_owned())
        })
    }

    /// The last message in the body, whether JSON or events.
    pub(crate) fn message(&self) -> Value {
        let json = |text: &str| {
            let at = text.find('{')?;
            let mut values =
                serde_json::Deserializer::from_str(text.get(at..)?).into_iter::<Value>();
            values.next()?.ok()
        };
        let lines = self.body.lines().rev();
        let mut messages = lines.filter_map(json);
        messages.next().unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The output of a call.
    pub(crate) fn output(&self) -> Value {
        self.message()["result"]["structuredContent"].clone()
    }
}
