//! The servers that are measured.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncWrite, duplex, split, stdin, stdout};
use tokio::net::UnixStream;
use toolhost::{Host, Instance, LiveBundle, LoadedBundle, Workdir};
use toolhost_mcp::{HttpConfig, HttpServer, McpConfig, McpServer, ServedAgent};
use toolhost_rpc::{RpcConfig, RpcServer, UnixSocket};
use toolhost_tests::test_host::{write_bundle, yaml};

use crate::measure::host;

/// Bytes of a pipe in memory, in each direction.
const PIPE_BYTES: usize = 64 << 10;

/// A client's side of a connection.
pub(crate) struct Streams {
    pub(super) read: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) write: Box<dyn AsyncWrite + Send + Unpin>,
}

impl Streams {
    fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self {
            read: Box::new(read),
            write: Box::new(write),
        }
    }
}

/// A bundle with one tool, which echoes, and its workdir.
struct Tools {
    _bundle_dir: tempfile::TempDir,
    host: Host,
    bundle: LoadedBundle,
    workdir: Workdir,
}

impl Tools {
    async fn load(work: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        write_bundle(dir.path(), &yaml(&[("echo", "echo", &["say"])]), &["echo"]);
        let host = host(None);
        Self {
            bundle: host.load(dir.path()).await.unwrap(),
            workdir: host.workdir(work).unwrap(),
            host,
            _bundle_dir: dir,
        }
    }

    fn mcp(&self) -> McpServer {
        let bundle = LiveBundle::new(self.bundle.clone());
        let agent = ServedAgent::new(bundle).only_workdir("default", self.workdir.clone());
        McpServer::new(agent, McpConfig::default())
    }

    fn rpc(&self) -> RpcServer {
        let mut config = RpcConfig::new(self.host.clone()).bundle(self.bundle.clone());
        config.workdir = Some(self.workdir.clone());
        RpcServer::new(config)
    }
}

/// The servers of this process.
pub(super) struct Servers {
    tools: Tools,
    socket: PathBuf,
    mcp: McpServer,
    rpc: RpcServer,
    /// Where MCP is served over HTTP.
    pub(super) http: SocketAddr,
}

impl Servers {
    pub(super) async fn start(work: &Path) -> Self {
        let tools = Tools::load(work).await;
        let (mcp, rpc) = (tools.mcp(), tools.rpc());
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let http = HttpServer::bind(&mcp, loopback, HttpConfig::default()).await;
        let http = http.unwrap();
        let address = http.address();
        tokio::spawn(http.run());
        let path = tools._bundle_dir.path().join("rpc.sock");
        let socket = UnixSocket::bind(&path).await.unwrap();
        let server = rpc.clone();
        tokio::spawn(async move { server.serve_socket(socket).await });
        Self {
            tools,
            socket: path,
            mcp,
            rpc,
            http: address,
        }
    }

    /// An instance of the agent that the servers serve.
    pub(super) fn instance(&self) -> Instance {
        let agent = self.tools.bundle.only_agent().unwrap();
        agent.instance("default", self.tools.workdir.clone())
    }

    /// Connects to the socket of JSON-RPC.
    pub(super) async fn connect(&self) -> Streams {
        let stream = UnixStream::connect(&self.socket).await.unwrap();
        let (read, write) = stream.into_split();
        Streams::new(read, write)
    }

    pub(super) fn mcp_in_memory(&self) -> Streams {
        let (near, far) = duplex(PIPE_BYTES);
        let server = self.mcp.clone();
        tokio::spawn(async move {
            let (read, write) = split(far);
            server.serve(read, write, "default").await.unwrap();
        });
        let (read, write) = split(near);
        Streams::new(read, write)
    }

    pub(super) fn rpc_in_memory(&self) -> Streams {
        let (near, far) = duplex(PIPE_BYTES);
        let server = self.rpc.clone();
        tokio::spawn(async move {
            let (read, write) = split(far);
            server.serve(read, write).await
        });
        let (read, write) = split(near);
        Streams::new(read, write)
    }
}

/// A server on standard input and output.
pub(crate) struct Child(tokio::process::Child);

impl Child {
    /// Starts this program as a server. It ends with its standard input.
    pub(crate) fn start(serve: &str) -> Self {
        let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
        let command = command.arg(serve).stdin(Stdio::piped());
        Self(command.stdout(Stdio::piped()).spawn().unwrap())
    }

    pub(crate) fn streams(&mut self) -> Streams {
        Streams::new(self.0.stdout.take().unwrap(), self.0.stdin.take().unwrap())
    }
}

/// Serves MCP on standard input and output.
pub(crate) async fn serve_mcp() {
    let work = tempfile::tempdir().unwrap();
    let server = Tools::load(work.path()).await.mcp();
    server.serve(stdin(), stdout(), "default").await.unwrap();
}

/// Serves JSON-RPC on standard input and output.
pub(crate) async fn serve_rpc() {
    let work = tempfile::tempdir().unwrap();
    let server = Tools::load(work.path()).await.rpc();
    server.serve(stdin(), stdout()).await;
}
