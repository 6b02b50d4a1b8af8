//! The whole of it against a server on loopback.

mod bent_answers;
mod code_flow;
mod device;
mod refresh;
mod revoke;
mod secrets;
mod server;
mod servers;
mod store;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use oauth2::url::Url;
use tempfile::TempDir;
use toolhost_contract::AddressBlock;
use toolhost_egress::{Egress, HttpConfig};
use toolhost_runtime::{Quota, Threads};
use toolhost_store::testing;

use self::server::{Answer, Server, json};
use crate::app::tests::app;
use crate::*;

/// A clock that is set forward.
#[derive(Default)]
struct TestClock(AtomicU64);

impl TestClock {
    fn forward(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        start + Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// A state root, an authorization server, and an app at it.
struct World {
    oauth: OAuth,
    app: OAuthApp,
    server: Server,
    clock: Arc<TestClock>,
    root: TempDir,
}

fn network() -> Egress {
    static SHARED: OnceLock<Egress> = OnceLock::new();
    let start = || {
        let (files, threads) = (Quota::open_files(3), Threads::start(1).unwrap());
        Egress::new(&HttpConfig::default(), Arc::new(files), 3, threads).unwrap()
    };
    SHARED.get_or_init(start).clone()
}

fn store(root: &Path) -> OAuthStore {
    let database = testing::replaced(root).unwrap_or_else(|| root.into());
    OAuthStore::open_on(database, Some(root.to_owned())).unwrap()
}

#[test]
fn all_of_it_is_so_in_postgresql() {
    testing::rerun(
        "tests::",
        &[
            "moved_to_another_place",
            "open_sessions_of_a_key",
            "stores_bytes",
        ],
    );
}

/// Opens a state root as another process would.
fn open(root: &Path, clock: &Arc<TestClock>, request_time: Duration) -> OAuth {
    let store = store(root);
    let key = Arc::new(OAuthKeyFile::new(root.join("oauth.key")));
    let mut egress = OAuthEgress::new(network());
    egress.private_networks = vec![AddressBlock::parse("127.0.0.0/8").unwrap()];
    egress.request_time = request_time;
    let mut config = OAuthConfig::new(store, key, egress);
    config.clock = Arc::clone(clock) as Arc<dyn Clock>;
    OAuth::open(config).unwrap()
}

impl World {
    fn new(answer: impl Fn(&server::Request) -> Answer + Send + Sync + 'static) -> Self {
        let root = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock::default());
        let server = Server::start(answer);
        Self {
            oauth: open(root.path(), &clock, Duration::from_secs(10)),
            app: app(&server.url),
            server,
            clock,
            root,
        }
    }

    async fn token(&self) -> TokenResult {
        self.oauth
            .access_token(&self.app, None, None, Duration::ZERO)
            .await
    }

    /// Begins an authorization, and returns its URL.
    async fn begin(&self) -> Url {
        let required = self.oauth.authorize(&self.app, None, None).await.unwrap();
        Url::parse(&required.authorization_url).unwrap()
    }

    /// Authorizes the app as a person would.
    async fn login(&self) -> Granted {
        let query = format!(
            "code=code-1&state={}",
            parameter(&self.begin().await, "state")
        );
        self.callback(&query).await.unwrap()
    }

    async fn callback(&self, query: &str) -> Result<Granted, CallbackError> {
        let apps = std::slice::from_ref(&self.app);
        self.oauth.callback(query, apps).await
    }
}

fn parameter(url: &Url, name: &str) -> String {
    let mut pairs = url.query_pairs();
    let pair = pairs.find(|(key, _)| key == name);
    pair.map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

#[track_caller]
fn ready(result: &TokenResult) -> &str {
    match result {
        TokenResult::Ready(token) => token.secret().expose(),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn required(result: TokenResult) -> AuthorizationRequired {
    match result {
        TokenResult::AuthorizationRequired(required) => required,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn error(result: TokenResult) -> OAuthError {
    match result {
        TokenResult::Error(error) => error,
        other => panic!("{other:?}"),
    }
}

/// Answers with tokens `access-N` and `refresh-N`, where N counts the requests, for an hour.
fn rotating() -> impl Fn(&server::Request) -> Answer + Send + Sync + 'static {
    let count = AtomicU64::new(0);
    move |_| {
        let n = count.fetch_add(1, Ordering::SeqCst) + 1;
        json(
            200,
            format!(
                r#"{{"access_token":"access-{n}","token_type":"Bearer","expires_in":3600,"refresh_token":"refresh-{n}"}}"#
            ),
        )
    }
}
