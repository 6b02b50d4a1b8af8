//! The JSON-RPC server, over a pipe in memory or a socket, with real guests.

mod calls;
mod events;
mod hostile;
mod limits;
mod methods;
mod shutdown;
mod sockets;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadHalf,
    WriteHalf, duplex, split,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolhost_rpc::{ConnectionEnd, RpcConfig, RpcServer};
use toolhost_tests::test_host::TestHost;

/// Bytes in each direction of the pipe.
const PIPE_BYTES: usize = 64 << 10;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) type Pipe = Client<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// A client that sends and receives lines.
pub(crate) struct Client<R, W> {
    reader: BufReader<R>,
    writer: W,
    last_id: i64,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Client<R, W> {
    fn new(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::new(reader),
            writer,
            last_id: 0,
        }
    }

    async fn write(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    /// Sends a request. Returns its id.
    async fn send(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request.to_string()).await;
        id
    }

    /// Sends `$/cancel`.
    async fn cancel(&mut self, id: i64) {
        let message = json!({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": id}});
        self.write(&message.to_string()).await;
    }

    /// Receives the next message; none at the end.
    async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.reader.read_line(&mut line)).await;
        let read = read.unwrap().unwrap_or_default();
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Receives the next answer.
    async fn answer(&mut self) -> Value {
        loop {
            let message = self.next().await.unwrap();
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Sends a request and returns its result.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let mut answer = self.answer().await;
        assert_eq!(
            (&answer["id"], &answer["error"]),
            (&json!(id), &Value::Null)
        );
        answer["result"].take()
    }

    /// Opens a turn and a step of it, and returns their ids.
    pub(crate) async fn open_step(&mut self) -> (Value, Value) {
        let turn = self.request("turn/open", json!({})).await["turn"].take();
        let opened = self.request("step/open", json!({"turn": turn})).await;
        let step = opened["step"].clone();
        (turn, step)
    }

    /// Sends a request that must fail. Returns its `data.code`.
    async fn fails(&mut self, method: &str, params: Value) -> String {
        let id = self.send(method, params).await;
        let answer = self.answer().await;
        assert_eq!(answer["id"], id, "{answer}");
        error_code(&answer)
    }
}

/// Returns the `data.code` of an error, and asserts that it has a message and a suggestion.
fn error_code(answer: &Value) -> String {
    let error = &answer["error"];
    for text in [&error["message"], &error["data"]["suggestion"]] {
        assert!(!text.as_str().unwrap_or_default().is_empty(), "{answer}");
    }
    error["data"]["code"].as_str().unwrap().to_owned()
}

/// A server of one connection.
pub(crate) struct Served {
    pub(crate) client: Pipe,
    server: RpcServer,
    end: JoinHandle<ConnectionEnd>,
}

pub(crate) fn serve(config: RpcConfig) -> Served {
    let server = RpcServer::new(config);
    let (client, end) = connect(&server, PIPE_BYTES);
    Served {
        client,
        server,
        end,
    }
}

/// Connects a client to a server.
fn connect(server: &RpcServer, pipe_bytes: usize) -> (Pipe, JoinHandle<ConnectionEnd>) {
    let (near, far) = duplex(pipe_bytes);
    let (reader, writer) = split(near);
    let server = server.clone();
    let end = tokio::spawn(async move {
        let (reader, writer) = split(far);
        server.serve(reader, writer).await
    });
    (Client::new(reader, writer), end)
}

/// Serves the bundle of a test host, with its workdir.
pub(crate) fn config(test_host: &TestHost) -> RpcConfig {
    let config = RpcConfig::new(test_host.host.clone()).bundle(test_host.loaded.clone());
    RpcConfig {
        workdir: Some(test_host.work.workdir.clone()),
        ..config
    }
}

/// The parameters of a call.
pub(crate) fn call(name: &str, args: Value) -> Value {
    json!({"call": {"id": "call-1", "name": name, "args": args}})
}

/// A call that writes to `/f`, a byte at a time, until it is stopped.
fn endless_call() -> Value {
    let args = json!({"path": "/f", "bytes": 1_000_000_000_u64, "chunk": 1, "mode": "append"});
    call("writer__run", args)
}

/// A host with the tools of these tests.
async fn tools(policy: &str) -> TestHost {
    let tools: [(&str, &str, &[&str]); 4] = [
        ("text", "text", &["upper", "count", "fail"]),
        ("writer", "write_bytes", &["run"]),
        ("sleep", "sleep_forever", &["run"]),
        ("pending", "pending", &["run"]),
    ];
    TestHost::with_tools(&tools, policy).await
}

/// Waits until the endless call writes.
async fn until_it_writes(test_host: &TestHost) {
    toolhost_tests::eventually("the guest writes", || written(test_host) > 100).await;
}

/// Bytes that the endless call has written.
fn written(test_host: &TestHost) -> u64 {
    std::fs::metadata(test_host.work.path("f")).map_or(0, |found| found.len())
}

/// Asserts that the endless call ends in a moment, and no longer writes.
async fn assert_stopped(test_host: &TestHost) {
    let sandbox = test_host.host.sandbox();
    toolhost_tests::eventually("its memory is free", || sandbox.memory_in_use() == 0).await;
    let before = written(test_host);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(written(test_host), before, "the guest runs on");
}
