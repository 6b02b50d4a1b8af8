//! Calls over a stream, one message on each line. One connection carries all calls at once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::echo::{TOOL, arguments};
use super::samples::Samples;
use super::servers::Streams;

pub(crate) struct StreamCalls {
    read: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    write: Box<dyn AsyncWrite + Send + Unpin>,
    method: &'static str,
    params: Value,
    /// What the answer to a call that succeeded contains.
    success: &'static str,
    last_id: u64,
    line: String,
}

#[derive(Deserialize)]
struct Answer {
    id: Option<u64>,
}

impl StreamCalls {
    pub(super) fn rpc(streams: Streams) -> Self {
        let params = json!({"call": {"id": "call-1", "name": TOOL, "args": arguments()}});
        Self::new(streams, "call/execute", params, r#""status":"ok""#)
    }

    pub(crate) async fn mcp(streams: Streams) -> Self {
        let params = json!({"name": TOOL, "arguments": arguments()});
        let mut calls = Self::new(streams, "tools/call", params, r#""isError":false"#);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        calls.send("initialize", &params).await;
        calls.answer().await;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        calls.write_line(&initialized).await;
        calls
    }

    fn new(streams: Streams, method: &'static str, params: Value, success: &'static str) -> Self {
        Self {
            read: BufReader::new(streams.read),
            write: streams.write,
            method,
            params,
            success,
            last_id: 0,
            line: String::new(),
        }
    }

    async fn write_line(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.write.write_all(line.as_bytes()).await.unwrap();
        self.write.flush().await.unwrap();
    }

    async fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write_line(&message).await;
        id
    }

    /// Reads the next answer into the line, and returns its id.
    async fn answer(&mut self) -> u64 {
        loop {
            self.line.clear();
            let read = self.read.read_line(&mut self.line).await.unwrap();
            assert!(read > 0, "the server ended");
            let answer: Answer = serde_json::from_str(&self.line).unwrap();
            // The server also sends notifications.
            if let Some(id) = answer.id {
                return id;
            }
        }
    }

    async fn call(&mut self) -> (u64, Instant) {
        let begin = Instant::now();
        let params = self.params.clone();
        (self.send(self.method, &params).await, begin)
    }

    /// Makes calls one after the other, and returns the answer to the last.
    pub(crate) async fn in_turn(&mut self, calls: u32) -> &str {
        for _ in 0..calls {
            let (id, _) = self.call().await;
            assert_eq!(self.answer().await, id);
            assert!(self.line.contains(self.success), "{}", self.line);
        }
        &self.line
    }

    pub(super) async fn run(&mut self, in_flight: usize, time: Duration) -> Samples {
        let started = Instant::now();
        let (mut running, mut latencies) = (HashMap::new(), Vec::new());
        for _ in 0..in_flight {
            running.extend([self.call().await]);
        }
        while !running.is_empty() {
            let id = self.answer().await;
            let begin: Instant = running.remove(&id).unwrap();
            latencies.push(begin.elapsed());
            assert!(self.line.contains(self.success), "{}", self.line);
            if started.elapsed() < time {
                running.extend([self.call().await]);
            }
        }
        Samples::new(latencies, started)
    }
}
