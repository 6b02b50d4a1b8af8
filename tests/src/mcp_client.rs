//! A client of MCP over HTTP: one connection that is kept alive, with one request at a time.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// 2025-11-25, with a session for each client.
    Session,
    /// 2026-07-28, without sessions.
    Stateless,
}

/// A connected client.
pub struct McpClient {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    revision: Revision,
    session: Option<String>,
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// Status line and headers.
    pub head: String,
    /// The body.
    pub body: String,
}

impl McpClient {
    /// Connects, and opens a session if the revision has sessions.
    pub async fn connect(address: SocketAddr, revision: Revision) -> Self {
        let stream = TcpStream::connect(address).await.expect("it listens");
        stream.set_nodelay(true).expect("it is a socket");
        let mut client = Self {
            stream: BufReader::new(stream),
            address,
            revision,
            session: None,
        };
        if revision == Revision::Session {
            let params = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            });
            let opened = client
                .exchange(&client.request("initialize", &params))
                .await;
            let session = opened.header("mcp-session-id").map(str::to_owned);
            assert!(session.is_some(), "{opened:?}");
            client.session = session;
        }
        client
    }

    /// Returns the text of a request that calls a tool.
    #[must_use]
    pub fn call_request(&self, tool: &str, arguments: &Value) -> String {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool, and returns the result.
    pub async fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let response = self.exchange(&self.call_request(tool, arguments)).await;
        let mut message = response.message();
        let result = message.get_mut("result");
        result.map(Value::take).unwrap_or_default()
    }

    /// Sends a request and does not wait for the response.
    pub async fn send(&mut self, request: &str) {
        let stream = self.stream.get_mut();
        let sent = stream.write_all(request.as_bytes()).await;
        sent.expect("the server reads");
    }

    /// Sends a request and receives the response.
    pub async fn exchange(&mut self, request: &str) -> Response {
        self.send(request).await;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.stream.read_line(&mut head).await;
            assert!(read.is_ok_and(|read| read > 0), "the server ended: {head}");
        }
        let mut response = Response {
            head,
            body: String::new(),
        };
        let length = response.header("content-length").map(str::parse);
        let body = match length {
            Some(length) => self.take(length.expect("a number")).await,
            None => self.chunks().await,
        };
        response.body = String::from_utf8(body).expect("it is UTF-8");
        response
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let read = self.stream.read_exact(&mut bytes).await;
        read.expect("the body is whole");
        bytes
    }

    async fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.stream.read_line(&mut line).await;
            read.expect("the body is whole");
            let length = usize::from_str_radix(line.trim_end(), 16).expect("the length of a chunk");
            let chunk = self.take(length + 2).await;
            if length == 0 {
                return body;
            }
            body.extend(chunk);
        }
    }

    fn request(&self, method: &str, params: &Value) -> String {
        let mut params = params.clone();
        let mut headers = String::new();
        if let Some(session) = &self.session {
            headers = format!("Mcp-Session-Id: {session}\r\n");
        }
        if self.revision == Revision::Stateless {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            });
            if let Some(params) = params.as_object_mut() {
                params.insert("_meta".to_owned(), meta);
            }
            let name = params.get("name").and_then(Value::as_str);
            let name = name.unwrap_or_default();
            headers = format!(
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n"
            );
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let body = body.to_string();
        let (address, length) = (self.address, body.len());
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\
             {headers}\r\n{body}"
        )
    }
}

impl Response {
    /// Returns the value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// Returns the answer in the body, which is JSON or the last of its events.
    #[must_use]
    pub fn message(&self) -> Value {
        let mut lines = self.body.lines().rev();
        let message = lines.find_map(|line| {
            let json = line.strip_prefix("data: ").unwrap_or(line);
            serde_json::from_str(json).ok()
        });
        message.unwrap_or_else(|| panic!("{self:?}"))
    }
}
