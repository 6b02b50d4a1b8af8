//! The server, a browser with a person, and a state root.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use toolhost_contract::AddressBlock;
use toolhost_egress::{Egress, HttpConfig};
use toolhost_oauth::{
    Clock, OAuth, OAuthApp, OAuthClientAuth, OAuthConfig, OAuthEgress, OAuthFlow, OAuthKeyFile,
    OAuthStore, SubjectMode, TokenResult,
};
use toolhost_runtime::{Quota, Threads};
use toolhost_store::testing;

/// Where the browser is sent back to. Nothing listens there.
const REDIRECT: &str = "http://127.0.0.1:8765/callback";

/// `oidc-provider`, with refresh tokens that are valid once.
pub(crate) struct Provider {
    pub(crate) issuer: String,
    control: String,
    child: Child,
    _ends_it: ChildStdin,
    /// It prints warnings later.
    _output: BufReader<ChildStdout>,
}

impl Provider {
    /// Starts the server. None, with a line that reports it, where it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/oauth");
        let folder = std::env::var_os("TOOLHOST_OAUTH");
        let folder = folder.map_or_else(|| PathBuf::from(target), PathBuf::from);
        let node = folder.join("node");
        if !node.exists() || !folder.join("node_modules/oidc-provider").exists() {
            let folder = folder.display();
            eprintln!("NOT tested: oidc-provider is not in {folder}: run `cargo xtask test`");
            return None;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/npm/server.mjs");
        let mut child = Command::new(node)
            .arg(script)
            .env("TOOLHOST_OAUTH", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let (issuer, control) = line.trim().split_once(' ').unwrap();
        Some(Self {
            issuer: issuer.to_owned(),
            control: control.strip_prefix("http://").unwrap().to_owned(),
            _ends_it: child.stdin.take().unwrap(),
            _output: output,
            child,
        })
    }

    /// Sends a command to the script.
    pub(crate) fn control(&self, path: &str) -> Value {
        let mut stream = TcpStream::connect(&self.control).unwrap();
        let request = format!("GET {path} HTTP/1.0\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str(body).unwrap()
    }

    /// Opens a URL in a browser whose person agrees, and returns the query with which it is sent back.
    pub(crate) fn browse(&self, url: &str) -> String {
        let answer = self.control(&format!("/browse?url={}", encoded(url)));
        let location = answer["location"].as_str().expect("a redirect");
        let query = location.strip_prefix(REDIRECT).unwrap();
        query.to_owned()
    }

    /// The statuses of the answers to refreshes.
    pub(crate) fn refreshes(&self) -> Vec<u64> {
        let requests = self.control("/requests");
        let all = requests.as_array().unwrap().iter();
        all.filter(|request| request["kind"] == "refresh_token")
            .map(|request| request["status"].as_u64().unwrap())
            .collect()
    }

    pub(crate) fn app(&self, client: &str, flow: OAuthFlow) -> OAuthApp {
        app(&self.issuer, client, flow)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn encoded(text: &str) -> String {
    let encode = |byte: u8| format!("%{byte:02X}");
    text.bytes().map(encode).collect()
}

pub(crate) fn app(issuer: &str, client: &str, flow: OAuthFlow) -> OAuthApp {
    let url = |path: &str| Some(format!("{issuer}{path}"));
    OAuthApp {
        name: "example".parse().unwrap(),
        flow,
        authorization_url: url("/auth"),
        token_url: format!("{issuer}/token"),
        device_authorization_url: url("/device/auth"),
        revocation_url: url("/token/revocation"),
        issuer: Some(issuer.to_owned()),
        client_id: client.to_owned(),
        client_secret: (client == "private")
            .then(|| toolhost_oauth::Secret::new("client secret: 100%")),
        client_auth: OAuthClientAuth::Basic,
        scopes: vec!["read".to_owned(), "write".to_owned()],
        subject_mode: SubjectMode::Global,
        redirect: Some(REDIRECT.to_owned()),
        parameters: BTreeMap::new(),
        origins: Vec::new(),
    }
}

/// A clock that is set forward: tokens expire here, and are still valid at the server.
#[derive(Default)]
pub(crate) struct Forward(pub(crate) AtomicU64);

impl Clock for Forward {
    fn now(&self) -> SystemTime {
        let forward = Duration::from_secs(self.0.load(Ordering::SeqCst));
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + forward
    }
}

pub(crate) fn open(root: &Path, clock: &Arc<Forward>) -> OAuth {
    let database = testing::replaced(root).unwrap_or_else(|| root.into());
    let store = OAuthStore::open_on(database, Some(root.to_owned())).unwrap();
    let key = Arc::new(OAuthKeyFile::new(root.join("oauth.key")));
    let (files, threads) = (Quota::open_files(3), Threads::start(1).unwrap());
    let network = Egress::new(&HttpConfig::default(), Arc::new(files), 3, threads);
    let mut egress = OAuthEgress::new(network.unwrap());
    egress.private_networks = vec![AddressBlock::parse("127.0.0.0/8").unwrap()];
    let mut config = OAuthConfig::new(store, key, egress);
    config.clock = Arc::clone(clock) as Arc<dyn Clock>;
    OAuth::open(config).unwrap()
}

pub(crate) async fn token(oauth: &OAuth, app: &OAuthApp) -> TokenResult {
    oauth.access_token(app, None, None, Duration::ZERO).await
}

#[track_caller]
pub(crate) fn ready(result: TokenResult) -> String {
    match result {
        TokenResult::Ready(token) => token.secret().expose().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Authorizes an app as a person does, and returns its first token.
pub(crate) async fn login(provider: &Provider, oauth: &OAuth, app: &OAuthApp) -> String {
    let TokenResult::AuthorizationRequired(required) = token(oauth, app).await else {
        panic!("an authorization")
    };
    let query = provider.browse(&required.authorization_url);
    let apps = std::slice::from_ref(app);
    let granted = oauth.callback(&query, apps).await.unwrap();
    assert_eq!(granted.auth_session_id, required.auth_session_id);
    ready(token(oauth, app).await)
}
