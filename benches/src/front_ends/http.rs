//! Calls over HTTP. Each call at once has a connection of its own, which is kept alive.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use toolhost_tests::mcp_client::{McpClient, Revision};

use super::echo::{TOOL, arguments};
use super::samples::Samples;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// 2026-07-28.
    Stateless,
    /// 2025-11-25: each connection has a session.
    Session,
    /// No call: `GET /healthz`.
    Health,
}

pub(super) struct HttpCalls {
    address: SocketAddr,
    protocol: Protocol,
    open: Vec<Connection>,
}

/// A connection and the request that it repeats.
struct Connection {
    client: McpClient,
    request: String,
    /// What the response contains.
    success: &'static str,
}

impl HttpCalls {
    pub(super) fn new(address: SocketAddr, protocol: Protocol) -> Self {
        Self {
            address,
            protocol,
            open: Vec::new(),
        }
    }

    pub(super) async fn run(&mut self, in_flight: usize, time: Duration) -> Samples {
        while self.open.len() < in_flight {
            let connection = Connection::open(self.address, self.protocol).await;
            self.open.push(connection);
        }
        let started = Instant::now();
        let callers: Vec<_> = self.open.drain(..in_flight).collect();
        let callers = callers.into_iter().map(|mut connection| {
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                while started.elapsed() < time {
                    let begin = Instant::now();
                    connection.call().await;
                    latencies.push(begin.elapsed());
                }
                (connection, latencies)
            })
        });
        let callers: Vec<_> = callers.collect();
        let mut all = Vec::new();
        for caller in callers {
            let (connection, latencies) = caller.await.unwrap();
            self.open.push(connection);
            all.extend(latencies);
        }
        Samples::new(all, started)
    }
}

impl Connection {
    async fn open(address: SocketAddr, protocol: Protocol) -> Self {
        let revision = match protocol {
            Protocol::Session => Revision::Session,
            Protocol::Stateless | Protocol::Health => Revision::Stateless,
        };
        let client = McpClient::connect(address, revision).await;
        let (request, success) = match protocol {
            Protocol::Health => {
                let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
                (request, "ok")
            }
            Protocol::Stateless | Protocol::Session => (
                client.call_request(TOOL, &arguments()),
                r#""isError":false"#,
            ),
        };
        Self {
            client,
            request,
            success,
        }
    }

    async fn call(&mut self) {
        let response = self.client.exchange(&self.request).await;
        assert!(response.body.contains(self.success), "{response:?}");
    }
}
