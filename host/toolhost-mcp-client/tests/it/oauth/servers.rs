//! A server with its authorization server, and a person's browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use toolhost::{
    BoxFuture,
    http::{AddressBlock, HttpGrant},
    mcp::McpOAuth,
    oauth::{OAuth, OAuthConfig, OAuthEgress, OAuthKeyFile, OAuthStore},
};
use toolhost_mcp_client::{
    HttpServer, McpAuthorization, McpAuthorizationRequest, McpAuthorizer, McpServer,
    McpServerConfig, McpStatus, McpTransport,
};

use crate::support::{Place, config, python};

pub(super) const REDIRECT: &str = "http://localhost:3000/callback";

/// The processes of one mode.
pub(super) struct Servers {
    process: Child,
    pub(super) server: u16,
    pub(super) authority: u16,
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A request that one of the servers received.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) who: String,
    pub(super) line: String,
    pub(super) authorization: String,
    pub(super) body: String,
}

impl Servers {
    /// Starts them. `elsewhere` is the address of the place that must receive nothing.
    pub(super) fn start(place: &Place, mode: &str, elsewhere: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/oauth.py");
        let mut process = Command::new(python())
            .args([script, mode, place.record().to_str().unwrap(), elsewhere])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let ports: Vec<u16> = line
            .split_whitespace()
            .map(|it| it.parse().unwrap())
            .collect();
        Self {
            process,
            server: ports[0],
            authority: ports[1],
        }
    }

    pub(super) fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.authority)
    }

    /// The server, whose authorization server is in the networks.
    pub(super) fn http(
        &self,
        place: &Place,
        oauth: McpOAuth,
        authorization: McpAuthorization,
        networks: &[&str],
    ) -> HttpServer {
        let url = format!("http://127.0.0.1:{}/mcp", self.server);
        let parse = |text: &&str| AddressBlock::parse(text).unwrap();
        let grant = HttpGrant {
            private_networks: networks.iter().map(parse).collect(),
            ..HttpGrant::default()
        };
        let server = HttpServer::new(place.host.sandbox(), &url, grant).unwrap();
        server.with_oauth(oauth, authorization)
    }

    /// The configuration of that server.
    pub(super) fn config(
        &self,
        place: &Place,
        oauth: McpOAuth,
        authorization: McpAuthorization,
        networks: &[&str],
    ) -> McpServerConfig {
        let server = self.http(place, oauth, authorization, networks);
        let mut config = config("srv", McpTransport::Http(server));
        config.limits.backoff_min = Duration::from_secs(60);
        config.limits.backoff_max = Duration::from_secs(60);
        config.limits.oauth_request = Duration::from_secs(2);
        config
    }

    pub(super) async fn connect(
        &self,
        place: &Place,
        authorization: McpAuthorization,
    ) -> McpServer {
        let config = self.config(place, McpOAuth::default(), authorization, &["127.0.0.1"]);
        McpServer::start(config, [place.agent()]).await.unwrap()
    }
}

/// Returns the requests so far.
pub(super) fn received(place: &Place) -> Vec<Received> {
    let recorded = place.recorded();
    let requests = recorded.lines().map(|line| {
        let request: Vec<Value> = serde_json::from_str(line).unwrap();
        let text = |at: usize| request[at].as_str().unwrap_or_default().to_owned();
        Received {
            who: text(0),
            line: format!("{} {}", text(1), text(2)),
            authorization: text(3),
            body: text(4),
        }
    });
    requests.collect()
}

/// The number of requests that begin so.
pub(super) fn count(place: &Place, who: &str, line: &str) -> usize {
    let requests = received(place).into_iter();
    requests
        .filter(|it| it.who == who && it.line.starts_with(line))
        .count()
}

/// Opens the grants of a place, as another process would.
pub(super) fn grants(place: &Place) -> OAuth {
    let root = place.dir.path().join("state");
    let store = OAuthStore::open(&root).unwrap();
    let key = Arc::new(OAuthKeyFile::new(root.join("oauth.key")));
    let egress = OAuthEgress::new(place.host.sandbox().egress().clone());
    OAuth::open(OAuthConfig::new(store, key, egress)).unwrap()
}

/// Changes the database of those grants, as another program may.
pub(super) fn change_database(place: &Place, sql: &str) {
    let program = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=20); db.execute(sys.argv[2]); db.commit()";
    let file = place.dir.path().join("state/toolhost.db");
    let ended = Command::new(python())
        .args(["-c", program, file.to_str().unwrap(), sql])
        .status();
    assert!(ended.unwrap().success());
}

/// Makes the database refuse to replace a record, as a full disk does.
pub(super) fn fill_disk(place: &Place) {
    let full = "CREATE TRIGGER full BEFORE UPDATE OF record ON oauth_servers BEGIN SELECT RAISE(ABORT, 'full'); END";
    change_database(place, full);
}

/// Why a server is not available.
pub(super) fn reason(server: &McpServer) -> String {
    match server.status() {
        McpStatus::Unavailable { reason } | McpStatus::Unauthorized { reason } => reason,
        other @ (McpStatus::Starting | McpStatus::Ready { .. } | _) => panic!("{other:?}"),
    }
}

/// A person who agrees at once, and counts how often.
#[derive(Clone, Default)]
pub(super) struct Person(pub(super) Arc<AtomicUsize>);

impl Person {
    pub(super) fn asked(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl McpAuthorizer for Person {
    fn redirect_uri(&self) -> String {
        REDIRECT.to_owned()
    }

    fn authorize(&self, request: McpAuthorizationRequest) -> BoxFuture<'_, Result<String, String>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let opened = tokio::task::spawn_blocking(move || location(&request.url)).await;
            opened.unwrap()
        })
    }
}

/// Opens a page as a browser does, and returns where it is sent.
fn location(url: &str) -> Result<String, String> {
    let rest = url.strip_prefix("http://").ok_or("not http")?;
    let (authority, path) = rest.split_once('/').ok_or("no path")?;
    let mut stream = TcpStream::connect(authority).map_err(|error| error.to_string())?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .map_err(|error| error.to_string())?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .map_err(|error| error.to_string())?;
    let location = answer
        .lines()
        .find_map(|line| line.strip_prefix("Location: "));
    location.map(str::to_owned).ok_or(answer)
}

/// A person who agrees, and from the second question on only when allowed to.
#[derive(Clone, Default)]
pub(super) struct SlowPerson {
    pub(super) person: Person,
    pub(super) allowed: Arc<Notify>,
}

impl McpAuthorizer for SlowPerson {
    fn redirect_uri(&self) -> String {
        REDIRECT.to_owned()
    }

    fn authorize(&self, request: McpAuthorizationRequest) -> BoxFuture<'_, Result<String, String>> {
        let is_first = self.person.asked() == 0;
        let answer = self.person.authorize(request);
        Box::pin(async move {
            if !is_first {
                self.allowed.notified().await;
            }
            answer.await
        })
    }
}

/// A person who never answers.
pub(super) struct Nobody;

impl McpAuthorizer for Nobody {
    fn redirect_uri(&self) -> String {
        REDIRECT.to_owned()
    }

    fn authorize(&self, _: McpAuthorizationRequest) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(std::future::pending())
    }
}
